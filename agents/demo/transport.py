import httpx

DEMO_HOST = "demo.planside.invalid"
DEMO_URL = f"http://{DEMO_HOST}/v1"


class DemoModel(httpx.AsyncBaseTransport):
    pass
