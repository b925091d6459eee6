"""A service with an upload, as FastAPI describes it: `uvicorn upload_app:app`."""

from typing import Annotated

from fastapi import FastAPI, File, Form, UploadFile

app = FastAPI()


@app.post("/upload", operation_id="upload")
async def upload(
    file: UploadFile,
    note: Annotated[str, Form()],
    more: Annotated[list[UploadFile] | None, File()] = None,
) -> dict[str, object]:
    first = await file.read()
    sizes = [len(await each.read()) for each in more or []]
    return {
        "name": file.filename,
        "type": file.content_type,
        "text": first.decode(),
        "note": note,
        "more": sizes,
    }
