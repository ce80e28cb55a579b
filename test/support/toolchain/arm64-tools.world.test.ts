import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { patiently } from '../patience.ts';
import { ensureLambdaEmulator } from './lambda.ts';

const BUILD_MS = patiently(120_000);
/** What ELF says of machines, and where. */
const MACHINE_AT = 18;
const AARCH64 = 183;

test(
  'a program that the tests build from Go modules is built for arm64 by the same script',
  async () => {
    const program = readFileSync(await ensureLambdaEmulator('arm64'));
    expect(program.subarray(1, 4).toString('latin1')).toBe('ELF');
    expect(program.readUInt16LE(MACHINE_AT)).toBe(AARCH64);
  },
  BUILD_MS,
);
