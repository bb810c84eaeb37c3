// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { inOrder, seenText, Sharing } from '../src/app/sharing';
import { type Ctl, CtlFailure } from '../src/link/ctl';

/** A host with one link and one browser, which refuses whatever `fails` names. */
function host(fails: Record<string, string> = {}) {
  const asked: string[] = [];
  const call = async (verb: string, params: unknown) => {
    asked.push(`${verb} ${JSON.stringify(params)}`);
    if (fails[verb]) throw new CtlFailure(fails[verb], 'in the words of the host');
    if (verb === 'share.list') return { shares: [{ share: 'l_1' }] };
    if (verb === 'device.list') return { devices: [{ device: 'd_1' }] };
    if (verb === 'share.create') return { share: 'l_2', url: 'http://h/#share=x', expires_at: 9 };
    return {};
  };
  return { asked, ctl: { call } as unknown as Ctl };
}

test('a link is made for a pane, and the lists are asked for anew', async () => {
  const { asked, ctl } = host();
  const sharing = new Sharing(() => ctl);
  expect(await sharing.create('p3', 'read', 900, '')).toMatchObject({ url: 'http://h/#share=x' });
  expect(await sharing.create('p3', 'write', 60, 'x')).not.toBeNull();
  expect(asked.filter((line) => line.startsWith('share.create'))).toEqual([
    'share.create {"resource":"pane:p3","right":"read","seconds":900}',
    'share.create {"resource":"pane:p3","right":"write","seconds":60,"label":"x"}',
  ]);
  expect(sharing.links.value).toHaveLength(1);
  expect(sharing.devices.value).toHaveLength(1);
  expect(sharing.failure.value).toBe('');
});

test.each([
  ['not_found.grant', 'This link has ended already.'],
  ['invalid.params', 'in the words of the host'],
])('why it was not done is said: %s', async (code, want) => {
  const { ctl } = host({ 'share.revoke': code });
  const sharing = new Sharing(() => ctl);
  expect(await sharing.revoke('l_1')).toBe(false);
  expect(sharing.failure.value).toBe(want);
  expect(sharing.busy.value).toBe(false);
});

test('without a connection nothing is done, and that is said', async () => {
  const sharing = new Sharing(() => null);
  expect(await sharing.unpair('d_1')).toBe(false);
  expect(sharing.failure.value).toBe('Not connected.');
  expect(sharing.links.value).toBeNull();
});

const hour = 3_600_000;
const device = (id: string, more: object = {}) => ({
  device: id,
  name: '',
  paired_at: 0,
  seen_at: 0,
  online: false,
  ...more,
});

test('of the paired browsers this one is first, then who is connected, then who was here last', () => {
  const all = [
    device('old', { seen_at: hour }),
    device('new', { seen_at: 3 * hour, paired_at: 1 }),
    device('newer', { seen_at: 3 * hour, paired_at: 2 }),
    device('there', { online: true }),
    device('own'),
  ];
  expect(inOrder(all, 'own').map((one) => one.device)).toEqual([
    'own',
    'there',
    'newer',
    'new',
    'old',
  ]);
});

test('no more is said of when a browser was here than the host keeps', () => {
  const now = 10 * hour;
  const said = (more: object) => seenText(device('d', more), now);
  expect(said({ online: true, seen_at: hour })).toBe('Connected now.');
  expect(said({ seen_at: now })).toBe('Here within the hour.');
  expect(said({ seen_at: now - hour + 1 })).toBe('Here within the hour.');
  expect(said({ seen_at: now - hour })).toBe('Here 1 hour ago.');
});
