/** Reads, parses and checks the same lines with the same functions as `fleetgc plan -o ndjson`, and plans nothing. */
import { once } from 'node:events';
import { MAX_LINE_BYTES, splitLines } from '../../../packages/plan/answer.ts';
import { policyReader, type RequestDefaults, readRequest } from '../../../packages/plan/request.ts';
import { readBytes } from '../../../packages/process/options/named-file.ts';
import { policySet } from '../../../test/fixtures/policy.ts';

const defaults: RequestDefaults = {
  policies: policySet(),
  trigger: 'periodic',
  readPolicy: policyReader({}),
};
const lines = splitLines(readBytes('-', new AbortController().signal), MAX_LINE_BYTES);
for await (const some of lines) {
  for (const line of some) {
    if (line === null || !readRequest(line, defaults).ok) throw new Error('a line is no request');
    if (!process.stdout.write('read\n')) await once(process.stdout, 'drain');
  }
}
