// Requests to the host. The browser keeps the cookie of the session, and this page its key.

const name = 'clawhost-key';

export const hasKey = () => localStorage.getItem(name) !== null;

// Gone is the error where the session has ended.
export class Gone extends Error {}

async function request(path, options) {
  const response = await fetch(path, { ...options, cache: 'no-store', redirect: 'error', headers: { 'X-Clawhost': localStorage.getItem(name) ?? '' } });
  const value = await response.json();
  if (response.ok) return value;
  if (response.status === 401) throw new Gone(value.error);
  throw new Error(value.error);
}

export const get = (path) => request(path, {});
export const post = (path, values) => request(path, { method: 'POST', body: new URLSearchParams(values) });

export async function login(token) {
  localStorage.setItem(name, (await post('login', { token })).key);
}

export async function logout() {
  try {
    await post('logout', {});
  } finally {
    forget();
  }
}

export const forget = () => localStorage.removeItem(name);
