// SPDX-License-Identifier: Apache-2.0

// Serves a built folder under the policy that the host sends, on a free port.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The strictest policy under which the page must work. */
export const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ws:; img-src 'self' data:; " +
  "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export async function serveFolder(folder) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://x').pathname);
    const file = join(folder, path === '/' ? 'index.html' : path);
    try {
      const body = await readFile(file);
      response.writeHead(200, {
        'content-type': types[extname(file)] ?? 'application/octet-stream',
        'content-security-policy': policy,
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}
