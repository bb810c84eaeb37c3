// SPDX-License-Identifier: Apache-2.0

const sha256Value = /^[0-9A-F]{2}(:[0-9A-F]{2}){31}$/;

/**
 * The one DTLS fingerprint of a session description. Throws when there is
 * none, more than one distinct value, or one that is not SHA-256: the
 * signature over the description then binds exactly one certificate.
 */
export function fingerprint(sdp: string): string {
  const found = new Set<string>();
  for (const line of sdp.split(/\r\n|\r|\n/)) {
    const match = /^a=fingerprint:(\S+) +(\S+)\s*$/i.exec(line);
    if (!match) {
      if (/^a=fingerprint/i.test(line)) throw new Error('malformed fingerprint');
      continue;
    }
    if (match[1]?.toLowerCase() !== 'sha-256') throw new Error('fingerprint is not sha-256');
    found.add((match[2] ?? '').toUpperCase());
  }
  const [only] = found;
  if (found.size !== 1 || !only || !sha256Value.test(only)) throw new Error('not one fingerprint');
  return only;
}
