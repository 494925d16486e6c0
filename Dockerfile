# The training stack and the rlanything command: docker build -t rlanything . && docker run rlanything doctor
ARG BASE=python:3.12-slim
FROM ${BASE}

# bubblewrap is the sandbox of Coding, g++ compiles its C++ programs.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap g++ && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/rlanything
COPY pyproject.toml README.md LICENSE ./
COPY verifiers verifiers
COPY task_pools task_pools
COPY rlanything_envs rlanything_envs
COPY agents agents
COPY configs configs
RUN python3 -m pip install --no-cache-dir '.[train]'

RUN useradd --create-home player
USER player
WORKDIR /home/player
ENTRYPOINT ["rlanything"]
CMD ["--help"]
