import { rmSync } from 'node:fs';
import { z } from 'zod';
import { encodeCopy, openReadOnlyFile, slotBytesFor } from '../../../../packages/files/fixed-file.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { SeenFile } from '../../../../packages/records/trust/seen-generations.ts';
import { ImageHistoryFile } from '../../../../schemas/state/image-history.ts';
import { BackoffFile } from '../../../../schemas/state/removal-backoff.ts';
import { RemovedImagesFile } from '../../../../schemas/state/removed-images.ts';
import {
  accepted,
  EMPTY_JOURNAL,
  JournalState,
  openJournal,
} from '../../../../services/node/executor/journal.ts';
import { imageRemoval } from '../../../../test/fixtures/command.ts';
import { instant } from '../../../../test/fixtures/time.ts';
import { SILENT } from '../../../../test/support/silent.ts';
import { type Outcome, PASSED, REFUSED, type Target } from '../../engine/target.ts';
import { type Json, toJson } from '../../mutate/json.ts';
import { asArray, asObject, schemaOf } from '../../mutate/schema.ts';
import { placeFor, putFile } from './written.ts';

/** Bytes of the file that are others: where, and which. */
const Bytes = z.array(z.tuple([z.int().nonnegative(), z.int().min(0).max(255)])).catch([]);
const Sequences = z.array(z.int().nonnegative().max(Number.MAX_SAFE_INTEGER)).catch([]);

/** What inputs are like that become a state file: its two copies, and what a disk made of them. */
const stateSchema = (value: z.ZodType): z.ZodType =>
  z.object({ copies: z.array(value).max(2), sequences: z.array(z.int().nonnegative()).max(2), bytes: Bytes });

const stateOf = (...copies: readonly unknown[]): Json => ({
  copies: copies.map(toJson),
  sequences: [1, 2],
  bytes: [],
});

/** A copy that is text stands there as it is. */
function fileIn(input: Json): Buffer {
  const { copies, sequences, bytes } = asObject(input);
  const values = asArray(copies)
    .slice(0, 2)
    .map((copy) => Buffer.from(typeof copy === 'string' ? copy : JSON.stringify(copy)));
  const slotBytes = slotBytesFor(Math.max(0, ...values.map(({ length }) => length)));
  const file = Buffer.alloc(2 * slotBytes);
  const numbers = Sequences.parse(sequences ?? []);
  for (const [slot, value] of values.entries())
    encodeCopy(BigInt(numbers[slot] ?? 0), value).copy(file, slot * slotBytes);
  for (const [at, byte] of Bytes.parse(bytes ?? [])) file[at % file.length] = byte;
  return file;
}

/** What is thrown with a code is an answer. */
function readState<T>(path: string, schema: z.ZodType<T>): Outcome {
  try {
    return openReadOnlyFile(path, schema).read() === null ? REFUSED : PASSED;
  } catch (error) {
    if (error instanceof FleetGcError && error.code === 'STATE_UNREADABLE') return REFUSED;
    throw error;
  }
}

const stateTarget = <T>(readers: readonly string[], schema: z.ZodType<T>, seeds: readonly T[]): Target => ({
  readers,
  schema: schemaOf(stateSchema(schema)),
  seeds: () => seeds.map((seed) => stateOf(seed, seed)),
  open: () => {
    const path = placeFor('state');
    return (input) => {
      putFile(path, fileIn(input));
      return readState(path, schema);
    };
  },
});

const JOURNAL: JournalState = accepted(EMPTY_JOURNAL, {
  command: imageRemoval(['a', 'b']),
  trace: null,
  signedBy: null,
  before: null,
  items: [{ state: 'waiting' }, { state: 'in-hand', since: instant() }],
});

/** An executor begins with whatever lies there, and never fails by it. */
const journal: Target = {
  readers: ['node-executor'],
  schema: schemaOf(stateSchema(JournalState)),
  seeds: () => [stateOf(EMPTY_JOURNAL), stateOf(EMPTY_JOURNAL, JOURNAL)],
  open: () => {
    const path = placeFor('journal');
    return (input) => {
      putFile(path, fileIn(input));
      const directory = {
        open: <T>(_name: string, _bytes: number, schema: z.ZodType<T>) => ({
          ...openReadOnlyFile(path, schema),
          write: () => rmSync(path, { force: true }),
        }),
      };
      const state = openJournal({ directory, now: instant(), logger: SILENT }).state();
      const ids = state.entries.map(({ command }) => command.id);
      if (new Set(ids).size < ids.length)
        return { passed: true, effect: 'a command is in the journal twice' };
      const isPaired = state.entries.every(({ command, items }) => command.items.length === items.length);
      if (!isPaired)
        return { passed: true, effect: 'the journal knows of objects that its command does not name' };
      return readState(path, JournalState);
    };
  },
};

export const STATE_FILES: Readonly<Record<string, Target>> = {
  journal,
  'image-history': stateTarget(['node-agent', 'node-executor'], ImageHistoryFile, [
    {
      version: 1,
      at: instant(),
      watchedSinceMs: 0,
      clockSteadySince: instant(),
      images: [['sha256:a', 0, null]],
    },
  ]),
  'removal-backoff': stateTarget(['node-agent', 'node-executor'], BackoffFile, [
    { version: 1, objects: [{ kind: 'image', id: 'a', failures: 1, untilMs: 1 }] },
  ]),
  'removed-images': stateTarget(['node-agent'], RemovedImagesFile, [
    { version: 1, images: [{ id: 'sha256:a', bootId: instant().bootId, sinceBootMs: 1 }] },
  ]),
  generations: stateTarget(['node'], SeenFile, [
    { version: 3, passedMs: 3, keys: { 'root key': 1 }, policies: { default: 2 } },
  ]),
};
