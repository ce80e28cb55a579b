import { CloudEvent, HTTP } from 'cloudevents';
import { describe, expect, test } from 'vitest';
import { MOST_NOTICES_TOLD, NoticeEvent } from '../../../schemas/notices/notice.ts';
import {
  CLOUD_EVENT_TYPE,
  cloudEvent,
  escaped,
  signatureHeaders,
  slackBody,
} from '../../../services/notices/webhook.ts';
import { AT_MS, messageOf, noticeOf } from './support/notice-of.ts';

const many = (count: number) =>
  messageOf([noticeOf(0), ...Array.from({ length: count - 1 }, (_, index) => alone(index + 1))]);
/** About a node of its own. */
const alone = (number: number) => noticeOf(number, { node: `node-${number}` });
/** One node that changes all the time, beside two others. */
const noisy = (count: number) =>
  messageOf([
    noticeOf(0),
    alone(1),
    ...Array.from({ length: count - 1 }, (_, index) => noticeOf(index + 10)),
    alone(2),
  ]);

describe('a CloudEvent', () => {
  test('is one to the official SDK', () => {
    const body = JSON.stringify(cloudEvent(messageOf([noticeOf(1)])));
    const read = HTTP.toEvent({ headers: { 'content-type': CLOUD_EVENT_TYPE }, body });
    if (!(read instanceof CloudEvent)) throw new Error('not one event');
    expect(read.validate()).toBe(true);
    expect(read).toMatchObject({
      specversion: '1.0',
      id: 'notice-1',
      source: '/fleetgc/notify',
      type: 'fleetgc.notice.removed.v1',
      subject: 'prod/web-1',
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      data: {
        rule: 'all',
        more: 0,
        dropped: {},
        notices: [{ id: 'notice-1', kind: 'removed', severity: 'info', cluster: 'prod', node: 'web-1' }],
      },
    });
  });

  test.each([1, 2, 214])('of %d notices is what its schema says', (count) => {
    const event = cloudEvent(many(count));
    expect(NoticeEvent.parse(event)).toEqual(event);
  });

  test('of many notices says how many more there are', () => {
    const { type, subject, data } = cloudEvent(many(MOST_NOTICES_TOLD + 213));
    expect(type).toBe('fleetgc.notice.digest.v1');
    expect(subject).toBeUndefined();
    expect(data.notices).toHaveLength(MOST_NOTICES_TOLD);
    expect(data.more).toBe(213);
  });

  test('tells of one kind about one node the newest alone, and how many it stands for', () => {
    const { data } = cloudEvent(noisy(60));
    expect(data.notices).toMatchObject([
      { id: 'notice-68', node: 'web-1', joined: 59 },
      { id: 'notice-1', joined: 0 },
      { id: 'notice-2', joined: 0 },
    ]);
    expect(data.more).toBe(0);
  });

  test('about one node alone is of its kind, however many notices it stands for', () => {
    const event = cloudEvent(messageOf([noticeOf(1), noticeOf(2), noticeOf(3)]));
    expect(event).toMatchObject({ type: 'fleetgc.notice.removed.v1', subject: 'prod/web-1' });
    expect(event.data).toMatchObject({ notices: [{ id: 'notice-3', joined: 2 }], more: 0 });
  });

  test('tells each act of somebody, however many there are', () => {
    const act = (number: number) => noticeOf(number, { kind: 'approved', node: null });
    expect(cloudEvent(messageOf([act(1), act(2), act(3)])).data.notices).toMatchObject([
      { id: 'notice-1', joined: 0 },
      { id: 'notice-2', joined: 0 },
      { id: 'notice-3', joined: 0 },
    ]);
  });

  test('of very many writes out some of each kind, so that none is hidden by a flood of another', () => {
    const silent = Array.from({ length: 400 }, (_, index) =>
      noticeOf(index + 2, { kind: 'silent', node: `made-up-${index}` }),
    );
    const of = [noticeOf(1, { kind: 'silent' }), ...silent] as const;
    const message = messageOf([
      ...of,
      noticeOf(900, { kind: 'heard-again' }),
      noticeOf(901, { kind: 'unrelieved' }),
    ]);
    const { notices, more } = cloudEvent(message).data;
    expect(notices).toHaveLength(MOST_NOTICES_TOLD);
    expect(notices.slice(-2)).toMatchObject([{ kind: 'heard-again' }, { kind: 'unrelieved' }]);
    expect(notices[0]).toMatchObject({ id: 'notice-1' });
    expect(more).toBe(403 - MOST_NOTICES_TOLD);
    expect(slackBody(message)).toContain('notice 901');
  });

  test.each(['undecided', 'decided-again'] as const)('names each decision service that is %s', (kind) => {
    const of = (number: number) => noticeOf(number, { kind, cluster: null, node: null });
    const message = messageOf([of(1), of(2), of(3)]);
    expect(cloudEvent(message).data.notices).toMatchObject([
      { id: 'notice-1', joined: 0 },
      { id: 'notice-2', joined: 0 },
      { id: 'notice-3', joined: 0 },
    ]);
    expect(slackBody(message)).toContain('notice 1');
  });

  test('has the same id for the same notices, and another one for others', () => {
    expect(cloudEvent(many(3)).id).toBe(cloudEvent(many(3)).id);
    expect(cloudEvent(many(4)).id).not.toBe(cloudEvent(many(3)).id);
  });

  test('says what never came before it', () => {
    const dropped = { 'too-old': 7, refused: 1 } as const;
    expect(cloudEvent(messageOf([noticeOf(1)], dropped)).data.dropped).toEqual(dropped);
  });
});

test('a signature is over the id, the seconds and the body, and one more while a secret changes', () => {
  const [secret, next] = [Buffer.from('0123456789abcdef01234567'), Buffer.from('fedcba9876543210fedcba98')];
  // Made with: printf 'notice-1.1767225600.{}' | openssl dgst -sha256 -hmac 0123456789abcdef01234567 -binary | base64
  const signed = 'v1,lZZcB3VfhTBswUmFDKFkDKym7nq0U5vXD4SEZjCSKks=';
  const headersOf = (secrets: readonly Buffer[]) =>
    signatureHeaders('{}', { id: 'notice-1', secrets, nowMs: AT_MS + 999 });
  expect(headersOf([secret])).toEqual({
    'webhook-id': 'notice-1',
    'webhook-timestamp': '1767225600',
    'webhook-signature': signed,
  });
  expect(headersOf([secret, next])['webhook-signature']).toMatch(
    new RegExp(`^${signed.replaceAll('+', '\\+')} v1,[A-Za-z0-9+/]{43}=$`),
  );
});

describe('the text for a chat', () => {
  const textOf = (...args: Parameters<typeof messageOf>): string =>
    JSON.parse(slackBody(messageOf(...args))).text;

  test('says how urgent it is, and what it is about', () => {
    expect(textOf([noticeOf(1)])).toBe('FleetGC notice, removed: prod/web-1: notice 1');
    expect(textOf([noticeOf(1, { kind: 'silent' })])).toMatch(/^FleetGC warning, silent: /);
  });

  test('writes out ten notices and counts the others', () => {
    const lines = JSON.parse(slackBody(many(223))).text.split('\n');
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toBe('and 213 more');
  });

  test('tells of one kind about one node in one line, which says how many it stands for', () => {
    const lines = JSON.parse(slackBody(noisy(60))).text.split('\n');
    expect(lines).toEqual([
      'FleetGC notice, removed: prod/web-1: notice 68 (and 59 more like it before)',
      'FleetGC notice, removed: prod/web-1: notice 1',
      'FleetGC notice, removed: prod/web-1: notice 2',
    ]);
  });

  test('says what never came before it', () => {
    expect(textOf([noticeOf(1)], { 'too-old': 2, refused: 1 })).toContain(
      '(3 notices before this could not be delivered and were dropped)',
    );
  });

  test('has Slack make no markup and no previews of it', () => {
    expect(JSON.parse(slackBody(messageOf([noticeOf(1)])))).toMatchObject({
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
    });
  });

  const BREAK = '\u200b';
  test.each([
    ['<!channel>', '&lt;!channel&gt;'],
    ['<@U123>', `&lt;@${BREAK}U123&gt;`],
    ['<https://evil.example|click>', '&lt;https://evil.example|click&gt;'],
    ['a & b &lt;', 'a &amp; b &amp;lt;'],
    ['@channel x-@here', `@${BREAK}channel x-@${BREAK}here`],
    ['nginx@sha256:0123', 'nginx@sha256:0123'],
    ['[click](https://evil.example)', `[click]${BREAK}(https://evil.example)`],
    [
      '*bold* _it_ ~no~ `code`',
      `*${BREAK}bold*${BREAK} _${BREAK}it_${BREAK} ~${BREAK}no~${BREAK} \`${BREAK}code\`${BREAK}`,
    ],
    ['my_image_name', 'my_image_name'],
  ])('leaves %s text', (hostile, text) => {
    expect(escaped(hostile)).toBe(text);
  });
});
