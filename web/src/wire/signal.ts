// SPDX-License-Identifier: Apache-2.0

// The messages of the signalling WebSocket, and the check of what arrives.

export const signalProtocol = 'spawn.signal.v1';
export const signalProto = 1;

/** Longest message either side accepts, in UTF-16 units as the page counts them. */
export const signalTextMax = 64 << 10;

export interface Candidate {
  candidate: string;
  sdpMid: string;
  sdpMLineIndex: number;
}

export type ToHost =
  | { type: 'pair'; device_key: string; name: string; code_id: string; mac: string }
  | { type: 'offer'; device: string; client_nonce: string; sdp: string; sig: string }
  | { type: 'visit'; link: string; client_nonce: string; sdp: string; sig: string }
  | { type: 'candidate'; candidate: Candidate };

export type FromHost =
  | { type: 'challenge'; proto: number; nonce: string; host_key: string }
  | { type: 'paired'; device: string; host_name: string; mac: string }
  | { type: 'answer'; sdp: string; sig: string }
  | { type: 'candidate'; candidate: Candidate }
  | { type: 'error'; code: string; message: string };

type Kind = 'string' | 'number';

const fields: Record<string, Record<string, Kind>> = {
  challenge: { proto: 'number', nonce: 'string', host_key: 'string' },
  paired: { device: 'string', host_name: 'string', mac: 'string' },
  answer: { sdp: 'string', sig: 'string' },
  error: { code: 'string', message: 'string' },
};

/** Reads one message of the host; throws on a type or shape that is not known. */
export function readSignal(text: string): FromHost {
  if (text.length > signalTextMax) throw new Error('signal too long');
  const value: unknown = JSON.parse(text);
  if (!isRecord(value) || typeof value.type !== 'string') throw new Error('signal without type');
  if (value.type === 'candidate') return { type: 'candidate', candidate: readCandidate(value) };
  const wanted = Object.hasOwn(fields, value.type) ? fields[value.type] : undefined;
  if (!wanted) throw new Error('unknown signal');
  for (const [name, kind] of Object.entries(wanted)) {
    if (typeof value[name] !== kind) throw new Error(`signal field ${name}`);
  }
  return value as FromHost;
}

function readCandidate(value: Record<string, unknown>): Candidate {
  const c = value.candidate;
  if (!isRecord(c) || typeof c.candidate !== 'string') throw new Error('signal candidate');
  return {
    candidate: c.candidate,
    sdpMid: typeof c.sdpMid === 'string' ? c.sdpMid : '0',
    sdpMLineIndex: typeof c.sdpMLineIndex === 'number' ? c.sdpMLineIndex : 0,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
