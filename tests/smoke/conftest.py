from tests.console.conftest import start  # noqa: F401
