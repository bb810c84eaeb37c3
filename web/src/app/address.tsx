// SPDX-License-Identifier: Apache-2.0

import { dialog, say } from './ui';

/** An address to give away: it is shown to be read or copied. */
export function Address({ url, label }: { url: string; label: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(url);
      say('Copied.');
    } catch {
      say('The browser did not allow writing to the clipboard.');
    }
  };
  const dismiss = () => {
    dialog.value = null;
  };
  return (
    <>
      <input
        class="address"
        readOnly
        value={url}
        aria-label={label}
        onFocus={(event) => event.currentTarget.select()}
      />
      <div class="actions">
        <button type="button" onClick={dismiss}>
          Done
        </button>
        <button type="button" class="main" onClick={() => void copy()}>
          Copy
        </button>
      </div>
    </>
  );
}
