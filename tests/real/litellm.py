"""LiteLLM's proxy, started before models that a test names."""

import json
from contextlib import contextmanager
from pathlib import Path

from tests.console.serving import free_port
from tests.peers import python_programs, serving

KEY = "sk-proxy-0123456789"
REQUIREMENTS = Path(__file__).parent / "requirements" / "litellm.txt"


@contextmanager
def proxy(folder, models, **environment):
    """Its address; `models` are what it passes on as, and where: {name: {"model", "api_base"}}."""
    program = python_programs(REQUIREMENTS) / "litellm"
    config = {
        "model_list": [
            {"model_name": name, "litellm_params": {"api_key": "k", **own}}
            for name, own in models.items()
        ],
        # What fails is to be told to us, and not tried again or put aside.
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {"master_key": KEY},
    }
    file = folder / "config.yaml"
    file.write_text(json.dumps(config))  # JSON is YAML
    port = free_port()
    command = [program, "--config", file, "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # the other one is fetched
    with serving(command, f"{url}/health/liveliness", 300, **environment):
        yield url
