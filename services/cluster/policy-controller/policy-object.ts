import { z } from 'zod';
import { wholeForm } from '../../../packages/kube-api/form.ts';
import { type ObjectMetadata, readMetadata } from '../../../packages/kube-api/metadata.ts';
import { PolicyObjectStatus } from '../../../schemas/policy/policy-object.ts';

/** A policy as it lies in Kubernetes. */
export interface PolicyObject extends ObjectMetadata {
  /** Changes with the spec. */
  readonly generation: number;
  /** As people wrote it; `null` where it is larger or deeper than any policy. */
  readonly spec: object | null;
  /** At least so many characters it takes to write it. */
  readonly specCharacters: number;
  /** `null` where none was told, or one that another release told. */
  readonly status: PolicyObjectStatus | null;
  /** What stands there as status, be it ours or not: all of it is replaced. Where it is larger than any of ours, its names alone. */
  readonly statusAsRead: object;
}

/** All of its members, whatever they are called: what nobody knows is to be refused, not passed over. */
const Members = z.custom<object>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const Fields = z.object({
  metadata: z.object({ generation: z.int().nonnegative().default(0) }),
  spec: Members.optional(),
  status: Members.optional(),
});

/** Larger than any policy that people write; the text of it goes to every node of the fleet. */
export const MOST_SPEC_CHARACTERS = 200_000;
/** The deepest list of a policy lies in a section of it. */
const MOST_LEVELS = 4;
/** What stands around a value: where it begins, and where it ends. */
const AROUND_A_VALUE = 2;

/** So that nothing that walks through a value walks for ever; `null` for more than is read. */
function charactersOf(value: unknown, levels = MOST_LEVELS): number | null {
  if (typeof value !== 'object' || value === null) return AROUND_A_VALUE + String(value).length;
  if (levels === 0) return null;
  const isList = Array.isArray(value);
  let characters = AROUND_A_VALUE;
  for (const [key, each] of Object.entries(value)) {
    const more = charactersOf(each, levels - 1);
    if (more === null) return null;
    characters += more + (isList ? 0 : key.length);
    if (characters > MOST_SPEC_CHARACTERS) return null;
  }
  return characters;
}

/** The next pass clears away the rest. */
const MOST_NAMES = 1_000;
const namesIn = (status: object): object =>
  Object.fromEntries(
    Object.keys(status)
      .slice(0, MOST_NAMES)
      .map((name) => [name, null]),
  );

export const POLICY_FORM = wholeForm((value): PolicyObject | null => {
  const metadata = readMetadata(value);
  const { data } = Fields.safeParse(value);
  if (metadata === null || data === undefined) return null;
  const { spec = {}, status = {} } = data;
  const characters = charactersOf(spec);
  return {
    ...metadata,
    generation: data.metadata.generation,
    spec: characters === null ? null : spec,
    specCharacters: characters ?? 0,
    status: PolicyObjectStatus.safeParse(status).data ?? null,
    statusAsRead: charactersOf(status) === null ? namesIn(status) : status,
  };
});
