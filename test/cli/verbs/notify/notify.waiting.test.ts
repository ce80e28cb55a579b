import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { NoticeEvent } from '../../../../schemas/notices/notice.ts';
import { pressureUnrelieved } from '../../../fixtures/results.ts';
import { type HttpReceiver, httpReceiver } from '../../../services/notices/support/http-receiver.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { fleetgc, inProcess, type OwnLog, ownLog } from '../../fleetgc.ts';
import { type SpawnedVerb, spawnVerb } from '../../service-process.ts';

const BOUND_MS = 20_000;

const rulesFile = (receivers: readonly HttpReceiver[], maxAge = '1h'): string => {
  const path = join(temporaryDirectory(), 'notices.json');
  const named = receivers.map(({ url }, index) => ({ name: `r${index}`, type: 'webhook', url, maxAge }));
  const rules = [{ name: 'all', to: named.map(({ name }) => name) }];
  writeFileSync(path, JSON.stringify({ receivers: named, rules }));
  return path;
};
const notify = (rules: string, path: string): SpawnedVerb =>
  spawnVerb('notify', '--rules', rules, '--log', 'embedded', '--log-path', path);

/** Resolves once it reads the log. */
async function isReady({ get }: SpawnedVerb): Promise<void> {
  await waitUntil('notify to be ready', BOUND_MS, async () => (await get('/readyz')).status === 200);
}

const textsAt = ({ received }: HttpReceiver): readonly string[] =>
  received.flatMap(({ body }) => NoticeEvent.parse(JSON.parse(body)).data.notices.map(({ text }) => text));
const idsAt = ({ received }: HttpReceiver): readonly string[] =>
  received.map(({ body }) => NoticeEvent.parse(JSON.parse(body)).id);
const told = (receiver: HttpReceiver, text: string): Promise<unknown> =>
  waitUntil(`the receiver to be told "${text}"`, BOUND_MS, () =>
    textsAt(receiver).some((each) => each.includes(text)),
  );

const unrelieved = outgoing(nodeOutput('results', pressureUnrelieved()));
const pause = ({ run }: OwnLog, reason: string) => run('pause', '--reason', reason);

test('nobody is told of the past; of what comes then everybody is, and a receiver that hangs or redirects holds up no other', async () => {
  const log = await ownLog();
  await pause(log, 'of the past');
  const [good, hanging, moved] = [
    await httpReceiver(),
    await httpReceiver('hang'),
    await httpReceiver({ status: 302, headers: { location: 'http://localhost:1/' } }),
  ];
  const running = notify(rulesFile([good, hanging, moved]), log.path);
  await isReady(running);
  for (const number of [1, 2, 3]) {
    await log.run('resume');
    await pause(log, `reason ${number}`);
    await told(good, `reason ${number}`);
  }
  expect(textsAt(good).join()).not.toContain('of the past');
  expect(hanging.received).toHaveLength(1);
  const { text } = await running.get('/readyz?verbose');
  expect(text).toContain('redirects are not followed');
  hanging.behave({ status: 204 });
  await told(hanging, 'reason 3');
  expect(await running.terminate()).toBe(0);
});

test('what a receiver did not get before the process was killed it gets from the next one, with the same id', async () => {
  const log = await ownLog();
  const receiver = await httpReceiver();
  const rules = rulesFile([receiver]);
  const first = notify(rules, log.path);
  await isReady(first);
  receiver.behave({ status: 503 });
  await log.log.publish([unrelieved]);
  await waitUntil('an attempt', BOUND_MS, () => receiver.received.length > 0);
  await first.kill();
  receiver.behave({ status: 204 });
  const before = receiver.received.length;
  const second = notify(rules, log.path);
  await waitUntil('the notice to come again', BOUND_MS, () => receiver.received.length > before);
  expect(new Set(idsAt(receiver)).size).toBe(1);
  expect(await second.terminate()).toBe(0);
  const third = notify(rules, log.path);
  await isReady(third);
  await pause(log, 'once more');
  await told(receiver, 'once more');
  expect(receiver.received).toHaveLength(before + 2);
  await third.terminate();
});

test('a receiver that comes back is told', async () => {
  const log = await ownLog();
  const receiver = await httpReceiver();
  const running = notify(rulesFile([receiver]), log.path);
  await isReady(running);
  await receiver.stop();
  await log.log.publish([unrelieved]);
  await waitUntil('an attempt that fails', BOUND_MS, async () =>
    /fleetgc_notice_attempts_failed_total\{receiver="r0"\} [1-9]/.test((await running.get('/metrics')).text),
  );
  await receiver.start();
  await told(receiver, 'a reclaim for imageGC ended above its target');
  expect((await running.get('/metrics')).text).toContain(
    'fleetgc_notices_total{receiver="r0",outcome="delivered"} 1',
  );
  await running.terminate();
});

const EXAMPLE = `
receivers:
  - { name: chat, type: slack, url: 'http://127.0.0.1:1/' }
rules:
  - { name: urgent, kinds: [silent, held], to: [chat] }
`;
const exampleFile = (text: string): string => {
  const path = join(temporaryDirectory(), 'notices.yaml');
  writeFileSync(path, text);
  return path;
};

test('notify check says what the rules mean, and warns of http', async () => {
  const { exitCode, stdout } = await inProcess(['notify', 'check', exampleFile(EXAMPLE)]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain('urgent');
  expect(stdout).toContain('receiver chat: it is reached by http, so whoever is on the way reads along');
  expect(stdout).toContain('The file can be used: 1 receiver, 1 rule.');
});

test.each([
  [EXAMPLE.replace('silent', 'silence'), 'rules[0].kinds[0]: must be one of'],
  [EXAMPLE.replace('http://127.0.0.1:1/', 'http://169.254.169.254/'), 'link-local'],
  [EXAMPLE.replace("url: 'http://127.0.0.1:1/'", 'urlFile: /nowhere'), '/nowhere cannot be read'],
])('notify check tells what cannot be used (%#)', async (text, problem) => {
  const { exitCode, stderr } = await fleetgc(['notify', 'check', exampleFile(text)]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(problem);
});

test('notify rbac prints the least rights', async () => {
  const { stdout } = await inProcess(['notify', 'rbac', '--namespace', 'fleetgc', '--output', 'json']);
  const { items } = JSON.parse(stdout);
  expect(items.map(({ kind }: { kind: string }) => kind)).toEqual(['ServiceAccount', 'Role', 'RoleBinding']);
  expect(items[1]).toMatchObject({
    metadata: { namespace: 'default' },
    rules: [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }],
  });
  expect(items[2].subjects).toEqual([
    { kind: 'ServiceAccount', name: 'fleetgc-notify', namespace: 'fleetgc' },
  ]);
});
