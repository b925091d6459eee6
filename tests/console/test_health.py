import pytest
from django.db import connection


@pytest.mark.django_db
def test_a_working_server_is_alive_and_ready(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


@pytest.mark.django_db
def test_health_needs_no_sign_in_and_tells_no_secrets(client):
    assert client.get("/healthz").status_code == 200
    assert set(client.get("/readyz").json()) == {"status"}


@pytest.mark.django_db
def test_without_its_tables_a_server_is_alive_but_not_ready(client):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE agents_conversation RENAME TO elsewhere")
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "The database has no tables yet: run manage.py migrate."


@pytest.mark.django_db
def test_without_its_channel_layer_a_server_is_not_ready(client, settings):
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "REDIS_URL" in answer.json()["detail"]
