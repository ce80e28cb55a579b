import { z } from 'zod';

const TYPE_AND_VERSION = z.object({ type: z.string(), version: z.number() });

/** The type and version that a value claims, from which its schema follows. */
export type Claim = z.infer<typeof TYPE_AND_VERSION>;

export const claimOf = (value: unknown): Claim | undefined => TYPE_AND_VERSION.safeParse(value).data;

/** The literals that a schema of events demands, one pair for every variant of a union. */
export function claimsOf(schema: z.core.$ZodType): readonly Claim[] {
  if (schema instanceof z.ZodDiscriminatedUnion) return schema.options.flatMap(claimsOf);
  if (!(schema instanceof z.ZodObject))
    throw new TypeError('a schema of an event is an object or a union of objects');
  const { type, version } = schema.shape;
  return [TYPE_AND_VERSION.parse({ type: literalOf(type), version: literalOf(version) })];
}

const literalOf = (schema: unknown): unknown => (schema instanceof z.ZodLiteral ? schema.value : undefined);
