from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from agents.hiding import remember
        from console import environment
        from console.watch import tracing

        remember(environment.secrets())
        tracing.start()
