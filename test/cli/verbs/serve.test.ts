import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readVerbArguments } from '../../../cli/framework/verb-arguments.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import type { Address } from '../../../packages/process/options/options.ts';
import { verbNamed } from '../../deploy/files.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { outgoing, sentEvent } from '../../services/deciders/functions/support/function-events.ts';
import { askBinary } from '../../services/deciders/functions/support/served-function.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess, type OwnLog, ownLog } from '../fleetgc.ts';
import { readTopic } from '../read-topic.ts';
import { BOUND_MS, type RunningVerb, startVerb } from '../service-process.ts';
import { signedFleet } from './policy/support/signed-fleet.ts';

const FULL = inventory({
  filesystems: filesystems({ availableBytes: '100' }),
  reclaim: reclaim(),
  images: [image('a')],
});
const PUBLISHED = ['gc.node.decisions', 'gc.node.commands'] as const;

const addressOf = (verb: RunningVerb): Promise<Address> =>
  waitUntil('the function to listen', BOUND_MS, () => {
    const [, port] = /"port":(\d+),.*"msg":"serving decisions"/.exec(verb.output.stderr) ?? [];
    return port === undefined ? null : { host: '127.0.0.1', port: Number(port) };
  });

/** An inventory and a policy on a log of its own. */
async function nodeOnLog(): Promise<OwnLog> {
  const own = await ownLog();
  await own.log.publish([outgoing('policies', appliedPolicy()), outgoing('policyVersions', appliedPolicy())]);
  await own.log.publish([outgoing('inventory', FULL)]);
  return own;
}

const serve = (own: OwnLog, ...more: readonly string[]): RunningVerb =>
  startVerb(
    'serve',
    'image-gc',
    '--http',
    '127.0.0.1:0',
    '--http-address',
    '127.0.0.1:0',
    '--log',
    'embedded',
    '--log-path',
    own.path,
    ...more,
  );

const published = async ({ log }: OwnLog): Promise<number> =>
  (await Promise.all(PUBLISHED.map((topic) => readTopic(log, topic)))).flat().length;

test('it decides under the policies of the topic, what follows is on the event log, and verify proves it', async () => {
  const own = await nodeOnLog();
  const verb = serve(own, '--policy', 'topic', '--publish');
  const address = await addressOf(verb);
  await waitUntil('it to be ready', BOUND_MS, async () => (await verb.get('/readyz')).status === 200);
  const [record] = await readTopic(own.log, 'gc.node.inventory');
  if (record === undefined) throw new Error('the inventory is not there');
  expect((await askBinary(address, sentEvent(record))).status).toBe(204);
  expect(await published(own)).toBe(2);
  const { text: metrics } = await verb.get('/metrics');
  expect(metrics).toContain('fleetgc_function_events_total{decider="image-gc",outcome="processed"} 1');
  expect(metrics).toContain('fleetgc_function_requests_total{decider="image-gc",status="204"} 1');
  expect(await verb.terminate(), verb.output.stderr).toBe(0);
  const verified = await own.run('audit', 'verify');
  // The topic of decisions was empty before: whether somebody took others away nobody can tell.
  expect(verified).toMatchObject({
    exitCode: 3,
    stdout: expect.stringMatching(/^1 +of them came out the same again$/m),
  });
});

test('under a document nothing is written, and what follows is in the answer', async () => {
  const own = await nodeOnLog();
  const document = join(temporaryDirectory(), 'policies.jsonl');
  expect(await own.run('policy', 'export', '--file', document)).toMatchObject({ exitCode: 0 });
  const verb = serve(own, '--policy', document);
  const [record] = await readTopic(own.log, 'gc.node.inventory');
  if (record === undefined) throw new Error('the inventory is not there');
  const answer = await askBinary(await addressOf(verb), sentEvent(record));
  expect(JSON.parse(answer.body.toString('utf8'))).toMatchObject([
    { type: 'fleetgc.node.decision.v1' },
    { type: 'fleetgc.node.command.v1' },
  ]);
  expect(await published(own)).toBe(0);
  expect(await verb.terminate(), verb.output.stderr).toBe(0);
});

test('orders are signed, facts have to be, and a head says at the end what was written', async () => {
  const { own, file, as } = await signedFleet();
  expect(await as('operator', 'policy', 'apply', file('other.yaml'))).toMatchObject({ exitCode: 0 });
  const document = file('policies.jsonl');
  expect(await as('operator', 'policy', 'export', '--file', document)).toMatchObject({ exitCode: 0 });
  const trusting = [
    '--trust',
    'required',
    '--trust-roots',
    file('roots.yaml'),
    '--signing-key-file',
    file('decider.pem'),
  ];
  const verb = serve(own, '--policy', document, '--publish', ...trusting);
  const [record] = await readAfterPublish(own);
  expect((await askBinary(await addressOf(verb), sentEvent(record))).status).toBe(204);
  expect(await verb.terminate(), verb.output.stderr).toBe(0);
  const commands = await readTopic(own.log, 'gc.node.commands');
  expect(commands).toMatchObject([{ headers: { ce_fleetgcsignature: expect.any(String) } }]);
  expect((await readTopic(own.log, 'gc.heads')).map(({ headers }) => headers.ce_type)).toEqual([
    'fleetgc.decision-head.v1',
  ]);

  const strict = serve(own, '--policy', document, ...trusting, '--trust-facts', 'required');
  const refused = await askBinary(await addressOf(strict), sentEvent(record));
  expect(refused).toMatchObject({ status: 403 });
  expect(refused.body.toString('utf8')).toContain('it carries no signature');
  expect(await strict.terminate(), strict.output.stderr).toBe(0);
});

async function readAfterPublish({ log }: OwnLog): Promise<readonly [LogRecord]> {
  await log.publish([outgoing('inventory', FULL)]);
  const [record] = await readTopic(log, 'gc.node.inventory');
  if (record === undefined) throw new Error('the inventory is not there');
  return [record];
}

test.each<readonly [string, readonly string[], RegExp]>([
  ['an address that others reach', ['--http', '0.0.0.0:0'], /whoever calls could make facts up/],
  ['an address without signatures', ['--policy', 'https://config.example/p'], /needs --trust required/],
  [
    'an address without TLS',
    ['--policy', 'http://config.example/p'],
    /must be a file, an https address without a login, or topic/,
  ],
  ['a password in an address', ['--policy', 'https://me:secret@config.example/p'], /without a login/],
  ['authorities of no address', ['--policy-ca-file', 'ca.pem'], /no effect/],
  ['a certificate without its key', ['--tls-certificate-file', 'CERT'], /TLS needs/],
  ['a file that is not there', ['--token-file', '/nowhere'], /there is no such file/],
  ['a role that is none', ['--token-file', 'TOKENS'], /the role is caller/],
  ['tokens that everybody may read', ['--token-file', 'OPEN'], /every user of this machine may open it/],
  ['no brokers where they are needed', ['--publish'], /kafka-brokers/],
])('%s: it does not start', async (_, args, why) => {
  const directory = temporaryDirectory();
  const files: Readonly<Record<string, string>> = {
    CERT: 'a certificate',
    TOKENS: `operator me ${'a'.repeat(40)}`,
    OPEN: `caller me ${'a'.repeat(40)}`,
  };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(directory, name), text, { mode: name === 'OPEN' ? 0o644 : 0o600 });
  const given = args.map((arg) => (arg in files ? join(directory, arg) : arg));
  const verb = startVerb('serve', 'image-gc', ...onAnyPorts(given));
  const became = await waitUntil('it to end, or to serve all the same', BOUND_MS, () =>
    verb.output.stderr.includes('"msg":"serving decisions"') ? 'it serves' : verb.exitCode(),
  );
  if (became === 'it serves') await verb.terminate();
  expect(became).toBe(2);
  expect(verb.output.stderr).toMatch(why);
});

const onAnyPorts = (args: readonly string[]): readonly string[] => [
  ...args,
  ...(args.includes('--http') ? [] : ['--http', '127.0.0.1:0']),
  ...['--http-address', '127.0.0.1:0'],
];

test.each([
  { line: 'image-gc --http', http: undefined },
  { line: 'image-gc --http --trust off', http: undefined },
  { line: 'image-gc --http [::]:9670', http: '[::]:9670' },
])('the option that says how it is called may stand without an address: $line', ({ line, http }) => {
  const given = readVerbArguments(verbNamed('serve'), line.split(' '));
  expect(given).toMatchObject({ kind: 'given', flags: { service: 'image-gc' } });
  expect(given.kind === 'given' && given.flags.http).toBe(http);
});

test('no other option may stand without a value', async () => {
  const { exitCode, stderr } = await inProcess(['serve', 'image-gc', '--http-address']);
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('needs a value'),
  });
});
