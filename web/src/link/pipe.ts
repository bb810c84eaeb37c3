// SPDX-License-Identifier: Apache-2.0

// The byte channel of one pane.

/** Largest message sent; the host refuses more than 64 KiB. */
const messageMax = 16 << 10;

/** Bytes the browser may buffer for us before we wait. */
const bufferedMax = 128 << 10;

/** Input that may wait here, such as a large paste; beyond it input is refused. */
const queuedBytesMax = 4 << 20;

/** What the app needs of a pane's channel. */
export interface PtyPipe {
  onBytes: (bytes: Uint8Array) => void;
  onClose: () => void;
  /** False when the input was refused as a whole: too much waits already, or the channel is closed. */
  send(bytes: Uint8Array): boolean;
  close(): void;
}

export class ChannelPipe implements PtyPipe {
  onBytes: (bytes: Uint8Array) => void = () => {};
  onClose: () => void = () => {};
  #queue: Uint8Array[] = [];
  #queued = 0;

  constructor(private readonly channel: RTCDataChannel) {
    channel.binaryType = 'arraybuffer';
    channel.bufferedAmountLowThreshold = bufferedMax / 2;
    channel.onbufferedamountlow = () => this.#flush();
    channel.onmessage = (event: MessageEvent<ArrayBuffer>) =>
      this.onBytes(new Uint8Array(event.data));
    channel.onclose = () => this.onClose();
  }

  send(bytes: Uint8Array): boolean {
    if (this.channel.readyState !== 'open') return false;
    if (this.#queued + bytes.length > queuedBytesMax) return false;
    for (let at = 0; at < bytes.length; at += messageMax) {
      this.#queue.push(bytes.subarray(at, at + messageMax));
    }
    this.#queued += bytes.length;
    this.#flush();
    return true;
  }

  close(): void {
    this.channel.onmessage = null;
    this.channel.onclose = null;
    this.channel.close();
  }

  #flush(): void {
    while (this.channel.readyState === 'open' && this.channel.bufferedAmount < bufferedMax) {
      const next = this.#queue.shift();
      if (!next) return;
      this.#queued -= next.length;
      this.channel.send(next as Uint8Array<ArrayBuffer>);
    }
  }
}
