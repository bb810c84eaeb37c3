// SPDX-License-Identifier: Apache-2.0

// One peer connection with its control channel, from nothing to usable.

import { type CtlCalls, type CtlEvent, ctlProto } from '../wire/ctl';
import type { Candidate } from '../wire/signal';
import { Ctl, CtlFailure } from './ctl';
import { LinkError } from './errors';
import { exchange, readChallenge } from './handshake';
import type { Identity } from './party';
import { ChannelPipe, type PtyPipe } from './pipe';
import { Signalling } from './signalling';

/** From the first packet to an answered hello. */
export const connectTimeoutMs = 10_000;

/** After a hint that the host is gone, how long a ping may take: many round trips, within bounds. */
const doubtRoundTrips = 8;
const doubtTimeoutMinMs = 300;
const doubtTimeoutMaxMs = 1000;

/** Regular pings: how often, and when one that is not answered ends the connection. */
const pingEveryMs = 5000;
const pingTimeoutMs = 5000;

const openTimeoutMs = 10_000;

export interface PeerOptions {
  url: string;
  identity: Identity;
  onEvent(event: CtlEvent): void;
  onRtt(ms: number): void;
}

export type Hello = CtlCalls['hello']['result'];

/** A live connection; after `onLost` it is of no more use. */
export interface Session {
  readonly hello: Hello;
  readonly ctl: Ctl;
  onLost: () => void;
  openPty(pane: string): Promise<PtyPipe>;
  /** Something suggests that the host is gone: ask, and end the session if nobody answers in time. */
  doubt(timeoutMs?: number): void;
  close(): void;
}

/** Connects once. Fails with a LinkError; nothing is left open then. */
export async function connectPeer(options: PeerOptions): Promise<Session> {
  if (!globalThis.RTCPeerConnection || !globalThis.crypto?.subtle) {
    throw new LinkError('unsupported', 'no WebRTC or no secure context');
  }
  try {
    return await connectOnce(options);
  } catch (error) {
    if (!(await options.identity.refused(error))) throw error;
    return connectOnce(options);
  }
}

async function connectOnce(options: PeerOptions): Promise<Session> {
  const peer = new Peer(options);
  try {
    await peer.connect();
    return peer;
  } catch (error) {
    peer.close();
    if (error instanceof LinkError) throw error;
    if (error instanceof CtlFailure && error.code === 'unsupported.proto') {
      throw new LinkError('protocol', error.message);
    }
    throw new LinkError('no_channel', error instanceof Error ? error.message : 'failed');
  }
}

class Peer implements Session {
  onLost: () => void = () => {};
  hello!: Hello;
  readonly ctl: Ctl;

  #pc = new RTCPeerConnection({ iceServers: [] });
  #channel: RTCDataChannel;
  #signalling: Signalling | null = null;
  #ended = false;
  #doubting = false;
  /** Of the last ping; until there is one, the longest that counts. */
  #rtt = doubtTimeoutMaxMs;
  #pings: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly options: PeerOptions) {
    this.#channel = this.#pc.createDataChannel('spawn.ctl', { ordered: true });
    this.ctl = new Ctl(
      (text) => this.#channel.send(text),
      (event) => options.onEvent(event),
    );
    this.#channel.onmessage = (event) => this.#receive(event.data);
    this.#channel.onclose = () => this.#end();
    this.#pc.onconnectionstatechange = () => this.#stateChanged();
  }

  async connect(): Promise<void> {
    const cut = new AbortController();
    const signal = AbortSignal.any([cut.signal, AbortSignal.timeout(connectTimeoutMs)]);
    const offer = this.#pc.createOffer();
    offer.catch(() => {});
    const signalling = await Signalling.open(this.options.url, signal);
    this.#signalling = signalling;
    signalling.onClose = () => cut.abort();
    const challenge = await readChallenge(signalling, signal);
    const party = await this.options.identity.party(challenge, signalling, signal);
    const local = this.#holdCandidates(signalling);
    await this.#pc.setLocalDescription(await offer);
    const sdp = this.#pc.localDescription?.sdp ?? '';
    const answer = await exchange(signalling, challenge, party, sdp, signal);
    local.release();
    await this.#pc.setRemoteDescription({ type: 'answer', sdp: answer });
    signalling.releaseCandidates((candidate) => this.#addCandidate(candidate));
    await opened(this.#channel, signal);
    this.hello = await this.ctl.request('hello', { proto: ctlProto });
    signalling.onClose = () => this.doubt();
    if (signalling.closed) this.doubt();
    this.#pings = setInterval(() => void this.#ping(pingTimeoutMs), pingEveryMs);
    void this.#ping(pingTimeoutMs);
  }

  async openPty(pane: string): Promise<PtyPipe> {
    const channel = this.#pc.createDataChannel(`spawn.pty.${pane}`, { ordered: true });
    const pipe = new ChannelPipe(channel);
    await opened(channel, AbortSignal.timeout(openTimeoutMs));
    return pipe;
  }

  doubt(timeoutMs = this.#doubtTimeoutMs()): void {
    if (this.#ended || this.#doubting || !this.hello) return;
    this.#doubting = true;
    void this.#ping(timeoutMs).finally(() => {
      this.#doubting = false;
    });
  }

  #doubtTimeoutMs(): number {
    const usual = this.#rtt * doubtRoundTrips;
    return Math.min(doubtTimeoutMaxMs, Math.max(doubtTimeoutMinMs, usual));
  }

  close(): void {
    this.onLost = () => {};
    this.#end();
  }

  /** Our candidates follow the offer; the host may not know them before. */
  #holdCandidates(signalling: Signalling): { release(): void } {
    let held: Candidate[] | null = [];
    this.#pc.onicecandidate = ({ candidate }) => {
      if (!candidate?.candidate) return;
      const told = {
        candidate: candidate.candidate,
        sdpMid: candidate.sdpMid ?? '0',
        sdpMLineIndex: candidate.sdpMLineIndex ?? 0,
      };
      if (held) held.push(told);
      else signalling.send({ type: 'candidate', candidate: told });
    };
    return {
      release: () => {
        for (const candidate of held ?? []) signalling.send({ type: 'candidate', candidate });
        held = null;
      },
    };
  }

  #addCandidate(candidate: Candidate): void {
    // One that the browser does not understand is of no use; others may connect.
    this.#pc.addIceCandidate(candidate).catch(() => {});
  }

  #receive(data: unknown): void {
    try {
      if (typeof data === 'string') this.ctl.receive(data);
    } catch {
      this.#end();
    }
  }

  #stateChanged(): void {
    const state = this.#pc.connectionState;
    if (state === 'failed' || state === 'closed') this.#end();
    else if (state === 'disconnected') this.doubt();
  }

  async #ping(timeoutMs: number): Promise<void> {
    const start = performance.now();
    try {
      await this.ctl.request('ping', {}, timeoutMs);
      this.#rtt = performance.now() - start;
      this.options.onRtt(this.#rtt);
    } catch {
      this.#end();
    }
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#pings);
    this.ctl.end();
    this.#channel.onclose = null;
    this.#pc.onconnectionstatechange = null;
    this.#pc.close();
    this.#signalling?.close();
    this.onLost();
  }
}

function opened(channel: RTCDataChannel, signal: AbortSignal): Promise<void> {
  if (channel.readyState === 'open') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const fail = () => reject(new LinkError('no_channel', 'channel did not open'));
    channel.addEventListener('open', () => resolve(), { once: true });
    channel.addEventListener('close', fail, { once: true });
    signal.addEventListener('abort', fail, { once: true });
  });
}
