# The decision service in a container, on the pinned and hashed versions: docs/service.md, "A container".
FROM python:3.11-slim

# The packages change seldom, the sources often: so they come first.
WORKDIR /usr/local/src/turncoat
COPY requirements/serve.txt requirements/
RUN python -m venv /usr/local/lib/turncoat \
 && /usr/local/lib/turncoat/bin/pip install --no-cache-dir --disable-pip-version-check \
        --require-hashes --requirement requirements/serve.txt
COPY pyproject.toml README.md LICENSE ./
COPY src/ src/
RUN /usr/local/lib/turncoat/bin/pip install --no-cache-dir --disable-pip-version-check \
        --no-build-isolation --no-deps .

# By its number, so that an orchestrator sees that it is not root; no account is needed.
RUN install -d -o 10001 -g 10001 /var/lib/turncoat /var/cache/turncoat
USER 10001:10001
ENV PATH=/usr/local/lib/turncoat/bin:$PATH \
    NUMBA_CACHE_DIR=/var/cache/turncoat \
    TURNCOAT_DATABASE=/var/lib/turncoat/turncoat.db

# Compiled for this machine's processor. On another the first start compiles, for half a minute.
RUN turncoat compile --service

WORKDIR /var/lib/turncoat
VOLUME /var/lib/turncoat
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as http; http.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["turncoat"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
