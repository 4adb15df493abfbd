"""The CSA protocol 1.2.1 (CSA サーバプロトコル): a client for any USI engine, and a small server."""
