from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from agents.telemetry.redaction import register_secrets
        from console import env
        from console.ops import tracing

        register_secrets(env.secrets())
        tracing.start()
