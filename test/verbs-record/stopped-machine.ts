/**
 * Loaded before everything else, with `--import`: the clock of this process stands where it is set, and all that is random counts
 * up. So a command that is given twice answers twice with the same bytes.
 */
import crypto from 'node:crypto';
import { ServerResponse } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { seededKeyPair } from './seeded-keys.ts';

interface StoppedMachine {
  nowMs: () => number;
  /** What is random counts from the beginning again. */
  restart(): void;
}

/** Milliseconds since the epoch at which the clock stands, in the environment, which threads share. */
export const STOPPED_AT = 'TEST_STOPPED_AT_MS';

const RealDate = globalThis.Date;
let counted = 0;
let keys = 0;
/** Of this process: whoever imports it has loaded it. */
export const machine: StoppedMachine = {
  nowMs: () => Number(process.env[STOPPED_AT] ?? Date.UTC(2026, 0, 1)),
  restart: () => {
    [counted, keys] = [0, 0];
  },
};

const now = (): number => machine.nowMs();
globalThis.Date = new Proxy(RealDate, {
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  construct: (target, args: readonly unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
});
Math.random = () => 0.5;

const uuid = (): `${string}-${string}-${string}-${string}-${string}` => {
  counted += 1;
  return `00000000-0000-4000-8000-${counted.toString(16).padStart(12, '0')}`;
};
const bytes = (size: number): Buffer => {
  counted += 1;
  return Buffer.alloc(size, `${counted.toString(16).padStart(8, '0')}`);
};
const keyPair = () => {
  keys += 1;
  return seededKeyPair(`number ${keys}`);
};
Object.assign(crypto, { randomUUID: uuid, randomBytes: bytes, generateKeyPairSync: keyPair });
syncBuiltinESMExports();

// Node.js dates answers by a clock of its own.
const { writeHead } = ServerResponse.prototype;
Object.assign(ServerResponse.prototype, {
  writeHead(this: ServerResponse, ...args: readonly unknown[]) {
    this.setHeader('date', new Date().toUTCString());
    return Reflect.apply(writeHead, this, args);
  },
});
