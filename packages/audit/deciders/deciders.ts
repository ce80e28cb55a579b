import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { MessageReference } from '../../../schemas/events/decision-parts.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import type { WrittenEvent } from '../../decision/freezable-decider.ts';
import type { InputPosition } from '../../decision/handler.ts';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import frozen from './hashes.json' with { type: 'json' };

/**
 * Decides once more as a decider of this version does, on what `read` of it gave, and on where the message lay. Returns all
 * events that follow, the record first, each with its canonical JSON.
 */
export type DecideAgain = (
  event: unknown,
  position: InputPosition,
  policies: PolicySetOf<SubjectKind>,
) => readonly WrittenEvent[];

/**
 * Looks once more at a message that a newer one is said to have overtaken: its record, or `null` where the newer one does not make
 * it needless. Throws `EVENT_REJECTED` for messages that this decider does not read.
 */
export type PassOver = (said: {
  /** The beginning of the message, or all of it. */
  readonly older: unknown;
  /** What `read` made of the newer one; its lists may be left out. */
  readonly newer: unknown;
  readonly position: InputPosition;
  readonly overtakenBy: MessageReference;
  readonly policySetHash: string;
}) => WrittenEvent | null;

/** A decider as it was when it was frozen, with everything that it stands on. */
export interface FrozenDecider {
  readonly name: string;
  readonly version: string;
  /** Two deciders with the same one read alike, so what one of them has read will do for the other. */
  readonly reader: string;
  /** Makes an event of what JSON.parse gave. Throws `EVENT_REJECTED` for a message that this decider does not read. */
  readonly read: (message: unknown) => unknown;
  readonly decide: DecideAgain;
  readonly passOver: PassOver;
}

const Bundle = z.object({
  read: z.custom<FrozenDecider['read']>((value) => typeof value === 'function'),
  decide: z.custom<DecideAgain>((value) => typeof value === 'function'),
  passOver: z.custom<PassOver>((value) => typeof value === 'function'),
});

const BUNDLES: ReadonlyMap<string, Pick<Wanted, 'sha256' | 'reader'>> = new Map(Object.entries(frozen));

/** The deciders of this release: what `hashes.json` calls each, and the SHA-256 of its bundle. */
export const FROZEN_DECIDERS: readonly { readonly bundle: string; readonly sha256: string }[] = [
  ...BUNDLES,
].map(([bundle, { sha256 }]) => ({ bundle, sha256 }));

const loaded = new Map<string, Promise<FrozenDecider>>();

/** `null` when no decider of this name and version was frozen. Throws `DECIDER_CHANGED` when its bundle is not as it was. */
export async function findDecider(name: string, version: string): Promise<FrozenDecider | null> {
  const file = bundleName(name, version);
  const bundle = BUNDLES.get(file);
  if (bundle === undefined) return null;
  const loading = loaded.get(file) ?? loadBundle({ name, version, ...bundle });
  loaded.set(file, loading);
  return await loading;
}

/** What a frozen decider is called in `hashes.json`; its file has the suffix `.mjs`. */
export const bundleName = (name: string, version: string): string => `${name}-${version}`;

/** Where the frozen deciders lie. */
export const BUNDLE_DIRECTORY = new URL('./', import.meta.url);

interface Wanted {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  /** SHA-256 of the parser alone, with the libraries that it stands on. */
  readonly reader: string;
}

/** Throws `DECIDER_CHANGED` when the file cannot be read or has another SHA-256. */
export async function loadBundle(
  { name, version, sha256, reader }: Wanted,
  directory = BUNDLE_DIRECTORY,
): Promise<FrozenDecider> {
  const file = new URL(`${bundleName(name, version)}.mjs`, directory);
  const code = await readFile(file).catch((cause: unknown) => {
    throw changed({ name, version }, `cannot be read: ${toFleetGcError(cause).message}`);
  });
  if (sha256Hex(code) !== sha256)
    throw changed({ name, version }, 'is not the one that was frozen: its SHA-256 differs');
  const { read, decide, passOver } = Bundle.parse(await import(file.href));
  return { name, version, reader, read: refusing(read), decide, passOver: refusing(passOver) };
}

/** A bundle has a class of errors of its own, which nobody here knows. */
const refusing =
  <Message, Read>(read: (message: Message) => Read): ((message: Message) => Read) =>
  (message) => {
    try {
      return read(message);
    } catch (error) {
      throw new FleetGcError('EVENT_REJECTED', toFleetGcError(error).message, { cause: error });
    }
  };

const changed = ({ name, version }: Pick<Wanted, 'name' | 'version'>, what: string): FleetGcError =>
  new FleetGcError(
    'DECIDER_CHANGED',
    `the frozen decider ${name} ${version} (packages/audit/deciders/) ${what}. Install this release of fleetgc again`,
  );
