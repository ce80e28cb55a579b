import { describe, expect, test } from 'vitest';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { becomesEvent, KubernetesReceiver } from '../../../services/notices/kubernetes.ts';
import type { Notice } from '../../../services/notices/notices.ts';
import { AT_MS, messageOf, noticeOf } from './support/notice-of.ts';

const RUNNING = new AbortController().signal;
const MINUTE_MS = 60_000;

/** An API server that answers with these statuses in turn, and then as it usually does. */
function receiverOn(statuses: (number | 'away')[] = []) {
  const requests: {
    readonly method: string;
    readonly path: string;
    readonly body: Record<string, unknown>;
  }[] = [];
  let nowMs = 0;
  const connection: ApiConnection = {
    clock: new ServerClock(),
    call: async ({ method, path, body = '{}' }: ApiRequest) => {
      requests.push({ method, path, body: JSON.parse(body) });
      const status = statuses.shift() ?? (method === 'POST' ? 201 : 200);
      if (status === 'away') throw new FleetGcError('API_UNREACHABLE', 'nobody answers');
      return { status, headers: {}, body: '{}' };
    },
    stream: () => Promise.reject(new Error('nothing is streamed')),
    [Symbol.dispose]: () => undefined,
  };
  const receiver = new KubernetesReceiver({ connection, monotonicNow: () => nowMs });
  const send = (first: Notice, ...more: readonly Notice[]) =>
    receiver.send(messageOf([first, ...more]), RUNNING);
  return {
    requests,
    send,
    receiver,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

test('an Event is about the Node, as the kubelet writes its own', async () => {
  const { requests, send } = receiverOn();
  const unrelieved = noticeOf(1, { kind: 'unrelieved', reason: 'FreeDiskSpaceFailed' });
  expect(await send(unrelieved)).toEqual({ kind: 'delivered' });
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/api/v1/namespaces/default/events',
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace: 'default', name: expect.stringMatching(/^web-1\.[0-9a-f]{16}$/) },
        involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'web-1', uid: 'web-1' },
        reason: 'FreeDiskSpaceFailed',
        type: 'Warning',
        message: 'prod/web-1: notice 1',
        count: 1,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        source: { component: 'fleetgc-notify', host: 'web-1' },
        reportingComponent: 'fleetgc-notify',
        reportingInstance: 'fleetgc-notify',
      },
    },
  ]);
});

test('only what is about a node of the cluster becomes one', () => {
  expect(becomesEvent(noticeOf(1), 'prod')).toBe(true);
  expect(becomesEvent(noticeOf(1), 'test')).toBe(false);
  expect(becomesEvent(noticeOf(1, { node: null }), 'prod')).toBe(false);
  expect(becomesEvent(noticeOf(1, { reason: null }), 'prod')).toBe(false);
});

describe('what is alike', () => {
  const later = (number: number, minutes: number, over: Partial<Notice> = {}) =>
    noticeOf(number, { atMs: AT_MS + minutes * MINUTE_MS, ...over });

  test('within ten minutes counts on one Event, which has the text of the last', async () => {
    const { requests, send } = receiverOn();
    await send(noticeOf(1), noticeOf(2));
    await send(later(3, 9));
    expect(requests.map(({ method, body }) => [method, body.count, body.message])).toEqual([
      ['POST', 2, 'prod/web-1: notice 2'],
      ['PATCH', 3, 'prod/web-1: notice 3'],
    ]);
    expect(requests[1]?.body.lastTimestamp).toBe('2026-01-01T00:09:00Z');
  });

  test('is another Event after that, on another node, or for another reason', async () => {
    const { requests, send } = receiverOn();
    await send(noticeOf(1), noticeOf(2, { node: 'web-2' }), noticeOf(3, { reason: 'ReclaimStarted' }));
    await send(later(4, 10));
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'POST']);
  });

  test('is a new Event where the API server has forgotten the old one', async () => {
    const { requests, send } = receiverOn([201, 404]);
    await send(noticeOf(1));
    expect(await send(noticeOf(2))).toEqual({ kind: 'delivered' });
    expect(requests.map(({ method, body }) => [method, body.count])).toEqual([
      ['POST', 1],
      ['PATCH', 2],
      ['POST', 1],
    ]);
  });
});

describe('about one node', () => {
  test('no more than 25 are written at once and then one in five minutes, and the next one counts the others', async () => {
    const { requests, send, pass } = receiverOn();
    for (let number = 0; number < 100; number += 1)
      expect(await send(noticeOf(number))).toEqual({ kind: 'delivered' });
    expect(requests).toHaveLength(25);
    await send(noticeOf(200, { node: 'web-2' }));
    expect(requests).toHaveLength(26);
    pass(5 * MINUTE_MS);
    await send(noticeOf(101), noticeOf(102));
    expect(requests).toHaveLength(27);
    expect(requests.at(-1)?.body.count).toBe(102);
  });
});

describe('an API server', () => {
  test.each([
    ['away', 'away'],
    [429, 'away'],
    [503, 'away'],
    [403, 'failed'],
    [422, 'refused'],
    [409, 'delivered'],
  ] as const)('that answers %s: %s', async (status, kind) => {
    const { send } = receiverOn([status]);
    expect((await send(noticeOf(1))).kind).toBe(kind);
  });

  test('that fails half way gets the rest alone when the message comes again', async () => {
    const { requests, send } = receiverOn([201, 503]);
    const both = [noticeOf(1), noticeOf(2, { node: 'web-2' })] as const;
    expect((await send(...both)).kind).toBe('away');
    expect(await send(...both)).toEqual({ kind: 'delivered' });
    expect(
      requests
        .map(({ body }) => JSON.stringify(body.involvedObject))
        .filter((text) => text.includes('web-1')),
    ).toHaveLength(1);
    expect(new Set(requests.slice(1).map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test('is told what never got there', async () => {
    const { requests, receiver } = receiverOn();
    await receiver.send(messageOf([noticeOf(1)], { 'too-old': 3 }), RUNNING);
    expect(requests[0]?.body.message).toBe(
      'prod/web-1: notice 1 (3 notices before this could not be delivered)',
    );
  });
});

test.each(['WEB_1', '..', '-x-', 'a'.repeat(253), 'ünter'])('a node may be called %s', async (node) => {
  const { requests, send } = receiverOn();
  await send(noticeOf(1, { node }));
  const { name } = Object(requests[0]?.body.metadata);
  expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  expect(name.length).toBeLessThanOrEqual(253);
});
