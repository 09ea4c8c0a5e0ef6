# A server on Tarn's malloc, with the command tarn beside it. The folder has the packages of ./dev package, and server.
FROM debian:12-slim
COPY tarn-malloc_*.deb tarn-tools_*.deb /packages/
RUN apt-get update \
  && apt-get install -y --no-install-recommends /packages/*.deb \
  && rm -rf /packages /var/lib/apt/lists/*
COPY server /usr/local/bin/server
ENV LD_PRELOAD=/usr/lib/libtarn-malloc.so
USER 1000
ENTRYPOINT ["/usr/local/bin/server"]
