// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { readCtl } from '../src/wire/read';
import { fingerprint } from '../src/wire/sdp';
import { readSignal } from '../src/wire/signal';

const print = Array.from({ length: 32 }, () => 'AB').join(':');

describe('fingerprint', () => {
  test('takes the one value, however often it stands there', () => {
    const line = `a=fingerprint:sha-256 ${print}`;
    expect(fingerprint(`v=0\r\n${line}\r\nm=x\r\n${line.toLowerCase()}\r\n`)).toBe(print);
  });

  test.each([
    ['none', 'v=0\r\n'],
    [
      'two values',
      `a=fingerprint:sha-256 ${print}\r\na=fingerprint:sha-256 ${print.replace('AB', 'AC')}\r\n`,
    ],
    ['another hash', `a=fingerprint:sha-1 ${print}\r\n`],
    [
      'another hash beside it',
      `a=fingerprint:sha-256 ${print}\r\na=fingerprint:sha-512 ${print}\r\n`,
    ],
    ['a short value', 'a=fingerprint:sha-256 AB:AB\r\n'],
    ['one hidden behind a lone CR', `a=fingerprint:sha-256 ${print}\ra=fingerprint:sha-1 00\r\n`],
    ['a malformed line', `a=fingerprint:sha-256 ${print}\r\na=fingerprint\r\n`],
  ])('refuses %s', (_, sdp) => {
    expect(() => fingerprint(sdp)).toThrow();
  });
});

describe('signals', () => {
  test('reads what the host says', () => {
    const challenge = { type: 'challenge', proto: 1, nonce: 'n', host_key: 'k' };
    expect(readSignal(JSON.stringify(challenge))).toEqual(challenge);
  });

  test.each([
    '[]',
    'null',
    '{"type":"other"}',
    '{"type":"constructor"}',
    '{"type":"answer","sdp":1,"sig":""}',
    '{"type":"candidate","candidate":null}',
    `{"type":"error","code":"x","message":"${'x'.repeat(70_000)}"}`,
  ])('refuses %.40s', (bad) => {
    expect(() => readSignal(bad)).toThrow();
  });
});

describe('spawn.ctl', () => {
  test('reads answers, errors and events', () => {
    expect(readCtl('{"id":3,"ok":{}}')).toEqual({ kind: 'ok', id: 3, ok: {} });
    const error = { code: 'denied.not_controller', message: 'm' };
    expect(readCtl(JSON.stringify({ id: 3, error }))).toEqual({ kind: 'error', id: 3, error });
    const event = { event: 'history_wipe', pane: 'p0', epoch: '18446744073709551615' };
    expect(readCtl(JSON.stringify(event))).toEqual({ kind: 'event', event });
  });

  test('an event of a later host is passed over', () => {
    expect(readCtl('{"event":"weather","pane":"p0"}')).toEqual({ kind: 'unknown' });
    expect(readCtl('{"event":"toString"}')).toEqual({ kind: 'unknown' });
  });

  test.each([
    '{"event":"history_wipe","pane":"p0","epoch":1}',
    '{"event":"history_delta","pane":"p0","epoch":"1","offset":-1,"data":""}',
    '{"event":"history_delta","pane":"p0","epoch":"1","offset":9007199254740993,"data":""}',
    '{"event":"size","pane":"p0","cols":0,"rows":10}',
    '{"event":"size","pane":"p0","cols":1001,"rows":10}',
    '{"event":"pane","pane":{"id":"p0"}}',
    '{"event":"control","pane":"p0","you":1,"controller":"","controller_name":""}',
    '{"id":-1,"ok":{}}',
    '{"id":1,"error":{"code":1,"message":""}}',
    '"x"',
  ])('refuses %s', (bad) => {
    expect(() => readCtl(bad)).toThrow();
  });
});
