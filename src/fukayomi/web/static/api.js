// Requests to the server. Answers are JSON unless said otherwise; an error has the server's text.

/** @param {string} method @param {string} path @param {BodyInit} [body] @param {Record<string, string>} [headers] */
async function request(method, path, body, headers = {}) {
  const response = await fetch(path, {method, body, headers, credentials: "same-origin"}).catch(() => {
    throw new Error("the server does not answer");
  });
  if (response.ok) return response;
  let text = `${response.status} ${response.statusText}`;
  try {
    text = (await response.clone().json()).error ?? text;
  } catch {
    text = (await response.text()) || text;
  }
  throw new Error(text);
}

const JSON_TYPE = {"Content-Type": "application/json"};

/** What an error says. @param {unknown} error */
export const messageOf = error => (error instanceof Error ? error.message : String(error));

export const api = {
  /** @template T @param {string} path @returns {Promise<T>} */
  async get(path) {
    return (await request("GET", path)).json();
  },
  /** @template T @param {string} path @param {unknown} value @returns {Promise<T>} */
  async post(path, value) {
    return (await request("POST", path, JSON.stringify(value), JSON_TYPE)).json();
  },
  /** A file that the server makes, with its name. @param {string} path @param {unknown} value */
  async postForFile(path, value) {
    const response = await request("POST", path, JSON.stringify(value), JSON_TYPE);
    const [, name] = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
    return {name: decodeURIComponent(name ?? "file"), content: await response.blob()};
  },
  /** Send bytes or text as they are. @template T @param {string} path @param {BodyInit} body @returns {Promise<T>} */
  async upload(path, body) {
    return (await request("POST", path, body, {"Content-Type": "application/octet-stream"})).json();
  },
  /** @param {string} path */
  async text(path) {
    return (await request("GET", path)).text();
  },
  /** @param {string} path */
  async remove(path) {
    await request("DELETE", path);
  },
};
