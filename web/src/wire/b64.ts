// SPDX-License-Identifier: Apache-2.0

/** Bytes over a plain ArrayBuffer, which is what WebCrypto and channels take. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Longest run that String.fromCharCode gets at once; more overflows the stack. */
const charsMax = 0x2000;

/** Base64url without padding. */
export function toB64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += charsMax) {
    text += String.fromCharCode(...bytes.subarray(i, i + charsMax));
  }
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Reads either base64 alphabet, padded or not; throws on anything else. For payloads. */
export function fromB64(text: string): Bytes {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * Reads exactly `length` bytes in the one spelling that `toB64` makes. For
 * whatever goes into a transcript: there the spelling itself is signed.
 */
export function fromB64Exact(text: string, length: number): Bytes {
  const bytes = fromB64(text);
  if (bytes.length !== length || toB64(bytes) !== text) throw new Error('not base64url');
  return bytes;
}
