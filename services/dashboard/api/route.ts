import { z } from 'zod';
import type { PeopleHistory } from '../../../packages/read-model/history.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import type { DashboardRole, DashboardSession } from '../../../schemas/reports/dashboard.ts';
import type { LogReaders } from '../bounds.ts';
import type { Readings } from '../readings.ts';
import type { Simulations } from '../simulation/simulations.ts';

/** What a reader may ask. */
export interface Asked {
  readonly projection: Projection;
  readonly logReaders: LogReaders;
  /** A search goes through every name, and waits for no log. */
  readonly searches: LogReaders;
  readonly readings: Readings;
  readonly history: PeopleHistory;
  readonly simulations: Simulations;
  readonly session: DashboardSession;
  /** Who asks, as `personKey` says. */
  readonly person: string;
}

/**
 * A question of the page: `read` gets parameters that were checked, and answers `null` for what is not there, `Refused`, or a
 * `GivenFile`.
 */
export interface Route {
  readonly path: string;
  readonly role: DashboardRole;
  readonly params: z.ZodType;
  readonly read: (given: unknown, asked: Asked) => unknown;
}

export const route = <Params extends z.ZodType>(
  path: string,
  params: Params,
  read: (given: z.infer<Params>, asked: Asked) => unknown,
): Route => ({
  path,
  role: 'viewer',
  params,
  read: (given, asked) => read(params.parse(given), asked),
});

export const whole = (
  least: number,
  most: number,
  error = `has to be a whole number from ${least} to ${most}`,
) =>
  z
    .string()
    .regex(/^[0-9]{1,16}$/, { error })
    .transform(Number)
    .refine((number) => number >= least && number <= most, { error });

/** The last moment that a `Date` can be. */
const LATEST_MS = 8.64e15;
export const EpochMs = whole(0, LATEST_MS, 'has to be a time, in milliseconds since 1970 as a whole number');
export const NodeKey = z
  .string()
  .regex(/^[^/]{1,253}\/[^/]{1,253}$/, { error: 'has to be a node as CLUSTER/NODE' });

/** Where the answer before says that the next begins. */
export const before = (form: RegExp) =>
  z
    .string()
    .regex(form, { error: 'has to be what the last answer says as before' })
    .transform((text) => ({ atMs: Number(text.split(':')[0]), id: text.slice(text.indexOf(':') + 1) }));
/** Part of a name: any text. */
export const Part = z.string().max(300).default('');
export const none = z.strictObject({});
