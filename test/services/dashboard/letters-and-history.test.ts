import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { EventLog } from '../../../packages/log/port.ts';
import { PeopleHistory } from '../../../packages/read-model/history.ts';
import { readLettersNamed } from '../../../packages/read-model/letters.ts';
import { openTables } from '../../../packages/read-model/tables.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { DashboardHistory } from '../../../schemas/reports/dashboard-history.ts';
import { DashboardLetterShown, DashboardLetters } from '../../../schemas/reports/dashboard-letters.ts';
import { readTokens } from '../../../services/dashboard/access/sessions.ts';
import { inProcess, ownLog } from '../../cli/fleetgc.ts';
import { base64, bury, deadLetter, lose, putBack } from '../../cli/verbs/dead-letters/letters.ts';
import { rootedLog } from '../../cli/verbs/rooted-log.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { actingOn } from './support/acting.ts';
import { caughtUp, type Dashboard, dashboardOf } from './support/dashboard.ts';

const TOKEN = 'o'.repeat(40);
const TOKENS = readTokens('tokens', `operator ann ${TOKEN}`);
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` };

async function served(log: EventLog): Promise<Dashboard> {
  const dashboard = await dashboardOf(log, { access: { tokens: TOKENS }, acting: actingOn(log) });
  await caughtUp({ json: async (path) => (await dashboard.get(path, AUTHORIZED)).json() });
  return dashboard;
}

const ask = async (dashboard: Dashboard, path: string): Promise<unknown> =>
  (await dashboard.get(path, AUTHORIZED)).json();

const lettersOf = async (dashboard: Dashboard, query = ''): Promise<DashboardLetters> =>
  DashboardLetters.parse(await ask(dashboard, `/api/dead-letters${query}`));

async function act(dashboard: Dashboard, name: string, asked: object): Promise<unknown> {
  const answer = await fetch(`${dashboard.url}/api/actions/${name}`, {
    method: 'POST',
    headers: { ...AUTHORIZED, origin: dashboard.url, 'content-type': 'application/json' },
    body: JSON.stringify({ id: randomUUID(), ...asked }),
  });
  return await answer.json();
}

test('dead letters are those of the verb, with all conditions', async () => {
  const { log, path } = await ownLog();
  const letters = await lose(log, ['{}', '[]', 'x']);
  await bury(
    log,
    ...letters,
    deadLetter({ id: 'order', topic: 'gc.node.commands', cause: 'untrusted-key' }),
    deadLetter({ id: 'again', cause: 'too-large', value: null, omittedBytes: 99 }),
  );
  const own = ['--log', 'embedded', '--log-path', path];
  await inProcess(['dead-letters', 'redrive', 'dead-letter-1', ...own]);
  const listed = async (...conditions: readonly string[]): Promise<unknown[]> =>
    JSON.parse((await inProcess(['dead-letters', 'list', '-o', 'json', ...conditions, ...own])).stdout);
  const dashboard = await served(log);
  for (const [query, conditions] of [
    ['', []],
    ['?all=true', ['--all']],
    ['?cause=wrong-schema', ['--cause', 'wrong-schema']],
    ['?topic=gc.node.commands', ['--topic', 'gc.node.commands']],
  ] as const) {
    const told = await lettersOf(dashboard, query);
    const verb = await listed(...conditions);
    expect(told.total).toBe(verb.length);
    expect(told.letters.map(({ id }) => id).toSorted()).toEqual(
      verb.map((letter) => (letter as { readonly id: string }).id).toSorted(),
    );
    for (const { id, key, valueBytes, message, group } of told.letters)
      expect(verb).toContainEqual(expect.objectContaining({ id, key, valueBytes, message, group }));
  }
  const first = await lettersOf(dashboard, '?all=true&limit=2');
  const second = await lettersOf(
    dashboard,
    `?all=true&limit=3&before=${encodeURIComponent(first.before ?? '')}`,
  );
  expect(new Set([...first.letters, ...second.letters].map(({ id }) => id)).size).toBe(5);
});

const HOSTILE = '<script>alert(1)</script>\u202e\u0007';

test('what a letter holds is text, and no more of it than can be looked at', async () => {
  const { log } = await ownLog();
  await bury(
    log,
    deadLetter({ id: 'hostile', message: HOSTILE, key: base64(HOSTILE), headers: { [HOSTILE]: HOSTILE } }),
    deadLetter({ id: 'bytes', value: Buffer.from([0xff, 0xfe, 0x00]).toString('base64') }),
    deadLetter({ id: 'large', value: base64('y'.repeat(200_000)) }),
    deadLetter({ id: 'text', value: base64(`"${HOSTILE}`) }),
    deadLetter({ id: 'order', topic: 'gc.node.commands' }),
    deadLetter({ id: 'null', key: null, value: null }),
  );
  const dashboard = await served(log);
  const shown = async (id: string): Promise<DashboardLetterShown> =>
    DashboardLetterShown.parse(await ask(dashboard, `/api/dead-letter?id=${id}`));
  expect((await shown('hostile')).letter).toMatchObject({ message: HOSTILE, key: HOSTILE });
  expect((await shown('hostile')).headers).toEqual([
    ['<script>alert(1)</script>\\u{202e}\\u{7}', '<script>alert(1)</script>\\u{202e}\\u{7}'],
  ]);
  expect((await shown('bytes')).content).toEqual({ kind: 'bytes', text: '//4A', isWhole: true });
  expect((await shown('large')).content).toMatchObject({ isWhole: false });
  expect((await shown('large')).content.text.length).toBe(65_536);
  expect((await shown('text')).content.text).toBe('"<script>alert(1)</script>\\u{202e}\\u{7}');
  expect((await shown('null')).content.kind).toBe('none');
  expect((await shown('order')).staysBecause).toContain('messages of gc.node.commands are not put back');
});

test('a letter goes back from the page as by the verb, with a note of who and why, and no order does', async () => {
  const { log } = await ownLog();
  await bury(log, ...(await lose(log, ['{}'])), deadLetter({ id: 'order', topic: 'gc.node.commands' }));
  const dashboard = await served(log);
  const asked = { letters: ['dead-letter-0', 'order'], again: false, reason: 'mended' };
  expect(await act(dashboard, 'redrive', asked)).toEqual({
    text: '1 message put back',
    notes: [expect.stringMatching(/^order is not put back: messages of gc.node.commands are not put back/)],
  });
  expect(await putBack(log, 1)).toHaveLength(1);
  await waitUntil('the note to be read', 10_000, async () => (await lettersOf(dashboard)).total === 1);
  expect(await act(dashboard, 'redrive', asked)).toMatchObject({ text: '0 messages put back' });
  const { entries } = DashboardHistory.parse(await ask(dashboard, '/api/history'));
  expect(entries).toMatchObject([
    { what: 'put-back', about: 'dead-letter-0', by: 'ann (dashboard, token)', reason: 'mended' },
  ]);
});

test('letters go back by their whole ids, and nothing is kept of the others', async () => {
  const { log } = await ownLog();
  await bury(log, ...(await lose(log, ['{}', '{}'])));
  const signal = AbortSignal.timeout(60_000);
  const named = await readLettersNamed(log, ['dead-letter-1', 'dead-letter-1'], signal);
  expect(named.map(({ letter }) => letter.id)).toEqual(['dead-letter-1']);
  await expect(readLettersNamed(log, ['dead-letter'], signal)).rejects.toThrow('there is no dead letter');
  await expect(readLettersNamed(log, ['dead-letter-0', 'dead-letter-1'], signal, 7)).rejects.toMatchObject({
    code: 'REDRIVE_REFUSED',
    message: expect.stringContaining('put back fewer at once'),
  });
  expect(await readLettersNamed(log, ['dead-letter-0'], signal, 7)).toHaveLength(1);
});

test('a letter that somebody made up does not go back', async () => {
  const { log } = await ownLog();
  const [letter] = await lose(log, ['{}']);
  await bury(log, deadLetter({ ...letter, value: base64('{"forged":true}') }));
  const dashboard = await served(log);
  const asked = { letters: ['dead-letter-0'], again: true, reason: '' };
  expect(await act(dashboard, 'redrive', asked)).toMatchObject({
    text: '0 messages put back',
    notes: [expect.stringContaining('somebody made this dead letter up')],
  });
  expect(await putBack(log, 1)).toEqual([]);
});

test('what people did is told with who, when and why, whether by a verb or from the page', async () => {
  const { log, run } = await ownLog();
  await run('pause', '--cluster', 'prod', '--reason', 'registry is down', '--by', 'bob');
  const dashboard = await served(log);
  const selector = { clusters: ['prod'], nodeNames: [], pools: [], nodeLabels: {} };
  await act(dashboard, 'resume', { selector, reason: 'it is up' });
  const told = DashboardHistory.parse(await ask(dashboard, '/api/history'));
  expect(told).toMatchObject({
    isJudged: false,
    before: null,
    entries: [
      { what: 'resumed', about: 'cluster prod', by: 'ann (dashboard, token)', reason: 'it is up' },
      { what: 'paused', about: 'cluster prod', by: 'bob', reason: 'registry is down' },
    ],
  });
  expect(await ask(dashboard, '/api/history?what=paused')).toMatchObject({ entries: [{ what: 'paused' }] });
  const first = DashboardHistory.parse(await ask(dashboard, '/api/history?limit=1'));
  expect(first.entries).toHaveLength(1);
  const rest = DashboardHistory.parse(await ask(dashboard, `/api/history?before=${first.before}`));
  expect([...first.entries, ...rest.entries]).toEqual(told.entries);
});

test('where signatures are looked at, it is told whose key signed, and what does not count', async () => {
  const { own, file, certify } = await rootedLog();
  await certify('ops', '--role', 'operator');
  const signed = [
    '--trust',
    'required',
    '--trust-roots',
    file('roots.yaml'),
    '--signing-key-file',
    file('ops.pem'),
  ];
  await own.run('pause', '--by', 'bob', ...signed);
  await own.run('pause', '--cluster', 'prod', '--by', 'ann (dashboard, token)', '--allow-unsigned');
  const history = new PeopleHistory({
    db: openTables(file('projection.db'), 'test').db,
    log: own.log,
    roots: readTrustRoots(file('roots.yaml')),
    historyMs: 3_600_000,
    now: Date.now,
  });
  const told = await history.read({ what: null, before: null, limit: 10 }, new AbortController().signal);
  expect(told).toMatchObject({
    isJudged: true,
    entries: [
      { by: 'ann (dashboard, token)', signedBy: null, objection: 'it carries no signature' },
      { by: 'bob', signedBy: { name: 'ops', role: 'operator' }, objection: null },
    ],
  });
});
