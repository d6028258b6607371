# `tongguocr serve` in a container, weights included, no network needed:
#   docker build -t tongguocr . && docker run --rm -p 8000:8000 tongguocr
#   curl -F image=@PAGE.jpg http://localhost:8000/v1/read
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY tongguocr tongguocr
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir '.[serve,pdf]'

FROM python:3.13-slim
# onnxruntime computes with OpenMP.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /venv /venv
RUN useradd --create-home reader
USER reader
WORKDIR /home/reader
EXPOSE 8000
HEALTHCHECK --start-period=20s CMD ["/venv/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["/venv/bin/tongguocr"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
