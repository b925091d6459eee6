from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from agents.hiding import remember
        from console import environment, tracing

        remember(environment.secrets())
        tracing.start()
