/**
 * Runs in a container on the network of the compose example, where anybody may write, as somebody without a key: repeats a
 * command and a policy without their signatures, and waits until a node has refused the one and names the other at /readyz.
 * Whoever starts it bounds its time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog, LogRecord, OutgoingRecord } from '../../packages/log/port.ts';
import { claimedSignature } from '../../packages/records/trust/signature.ts';
import { DeadLetter } from '../../schemas/events/dead-letter.ts';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import { openComposeLog } from './compose-log.ts';

const POLL_MS = 250;
const [node = ''] = process.argv.slice(2);

await using log = await openComposeLog('compose-intruder');
const command = await firstOf(log, TOPICS.commands.name, ({ key }) => key === `compose/${node}`);
await log.publish([withoutSignature(command)]);
await firstOf(log, TOPICS.deadLetters.name, isRefusal);
process.stdout.write('a command without a signature became a dead letter\n');

await log.publish([withoutSignature(await firstOf(log, TOPICS.policies.name, () => true))]);
process.stdout.write(`a policy without a signature: ${await objectionOf(node)}\n`);

function withoutSignature({ topic, key, value, headers }: LogRecord): OutgoingRecord {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith('ce_fleetgc'));
  const record = { topic, key: key ?? '', value, headers: Object.fromEntries(kept) };
  if (claimedSignature(headers).kind === 'claimed' && claimedSignature(record.headers).kind === 'none')
    return record;
  throw new Error(`a record of ${topic} was not signed, or still is`);
}

async function firstOf(
  from: EventLog,
  topic: TopicName,
  isWanted: (record: LogRecord) => boolean,
): Promise<LogRecord> {
  for await (const event of from.read({ topic, from: 'earliest', to: 'forever' }))
    if (event.kind === 'record' && isWanted(event.record)) return event.record;
  throw new Error(`the reading of ${topic} ended`);
}

function isRefusal({ value }: LogRecord): boolean {
  const letter = DeadLetter.safeParse(JSON.parse(value?.toString('utf8') ?? 'null')).data;
  return letter?.cause === 'unsigned' && letter.topic === TOPICS.commands.name;
}

/** What a node says of its policies once it is not ready. */
async function objectionOf(service: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`http://${service}:9640/readyz?verbose`);
    const lines = (await answer.text()).split('\n');
    const objection = lines.find((line) => line.startsWith('[-] policies'));
    if (!answer.ok && objection !== undefined) return objection;
    await sleep(POLL_MS);
  }
}
