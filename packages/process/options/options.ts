import { z } from 'zod';

/** The options of a verb: one schema per option, by its name in camelCase. */
export type OptionsSchema = z.ZodObject;

/** Kept with a schema, for help texts: `kind` tells how the value is given, `placeholder` what stands for it. */
export interface OptionMeta {
  readonly kind?: 'value' | 'switch' | 'list';
  readonly placeholder?: string;
  /** A positional argument of this verb instead of a flag. */
  readonly positional?: boolean;
  /** Says what to do rather than how: the environment of a node must not narrow what a command is about. */
  readonly commandLineOnly?: boolean;
  /** Its flag may stand without a value, and then changes nothing. */
  readonly mayBeBare?: boolean;
  readonly description?: string;
  /** What is said beside the choices of a text that is none of them. */
  readonly whyNot?: WhyNot;
}

export type WhyNot = (text: string) => string | undefined;

/** Where `withMeta` keeps it. */
const optionMeta = z.registry<OptionMeta>();

/** A copy of the schema with what help texts say about it, on top of what they say already. */
export function withMeta<T extends z.ZodType>(schema: T, meta: OptionMeta): T {
  const copy = schema.clone();
  optionMeta.add<z.ZodType>(copy, meta);
  return copy;
}

/** What a command line, a help text or a table of settings needs to know of one option. */
export interface OptionInfo {
  /** Its name in the config file, e.g. `kafkaBrokers`. */
  readonly key: string;
  /** `--kafka-brokers`. */
  readonly flag: string;
  /** `FLEETGC_KAFKA_BROKERS`. */
  readonly variable: string;
  readonly kind: 'value' | 'switch' | 'list';
  readonly positional: boolean;
  /** Neither the environment nor a config file gives it. */
  readonly commandLineOnly: boolean;
  /** Its flag may stand without a value. */
  readonly mayBeBare: boolean;
  readonly placeholder: string;
  /** The values that it can have, where these are few. */
  readonly choices?: readonly string[];
  readonly whyNot?: WhyNot;
  readonly description: string;
  /** As it would be written; absent when there is none. */
  readonly default?: string;
  readonly required: boolean;
}

/** Describes the options of a schema, in the order in which it names them. */
export const describeOptions = (schema: OptionsSchema): readonly OptionInfo[] =>
  Object.entries(schema.shape).map(([key, option]) => describeOption(key, option));

const WORD_BOUNDARY = /(?<=[a-z0-9])(?=[A-Z])/;

export const flagOf = (key: string): string => `--${key.split(WORD_BOUNDARY).join('-').toLowerCase()}`;

/** Of a switch: what switches it off. */
export const offFlagOf = (key: string): string => flagOf(key).replace('--', '--no-');

const variableOf = (key: string): string => `FLEETGC_${key.split(WORD_BOUNDARY).join('_').toUpperCase()}`;

function describeOption(key: string, schema: z.core.$ZodType): OptionInfo {
  const layers = unwrap(schema);
  const choices = choicesOf(layers);
  const whyNot = outermost(layers, 'whyNot');
  const prefault = layers.find((layer) => layer instanceof z.ZodPrefault)?.def.defaultValue;
  return {
    key,
    flag: flagOf(key),
    variable: variableOf(key),
    kind: outermost(layers, 'kind') ?? 'value',
    positional: outermost(layers, 'positional') ?? false,
    commandLineOnly: outermost(layers, 'positional') ?? outermost(layers, 'commandLineOnly') ?? false,
    mayBeBare: outermost(layers, 'mayBeBare') ?? false,
    placeholder: outermost(layers, 'placeholder') ?? choices?.join('|') ?? 'TEXT',
    ...(choices !== undefined && { choices }),
    ...(whyNot !== undefined && { whyNot }),
    description: outermost(layers, 'description') ?? '',
    ...(prefault !== undefined && { default: String(prefault) }),
    required: !z.safeParse(schema, undefined).success,
  };
}

/** The schema and what it wraps, from the outside in. */
function unwrap(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const wraps = schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional;
  return wraps ? [schema, ...unwrap(schema.unwrap())] : [schema];
}

const outermost = <K extends keyof OptionMeta>(
  layers: readonly z.core.$ZodType[],
  key: K,
): OptionMeta[K] | undefined =>
  layers.map((layer) => optionMeta.get(layer)?.[key]).find((value) => value !== undefined);

const choicesOf = (layers: readonly z.core.$ZodType[]): readonly string[] | undefined =>
  layers.find((layer) => layer instanceof z.ZodEnum)?.options.map(String);

/**
 * The values that options have. Every source (flag, environment, config file) gives text, or a list of texts, so that
 * `08` or `1e3` mean the same everywhere; these schemas turn it into values.
 */

export const Text = withMeta(z.string().min(1, { error: 'must not be empty' }), { placeholder: 'TEXT' });

export const FilePath = withMeta(z.string().min(1, { error: 'must be the path of a file' }), {
  placeholder: 'FILE',
});

/** `true` or `false`; on the command line `--name` or `--no-name`. */
export const Switch = withMeta(
  z.enum(['true', 'false'], { error: 'must be true or false' }).transform((text) => text === 'true'),
  { kind: 'switch' },
);

export const WholeNumber = withMeta(
  z
    .string()
    .regex(/^[0-9]{1,15}$/, { error: 'must be a whole number' })
    .transform(Number),
  { placeholder: 'NUMBER' },
);

/** Repeated, separated by commas, or a list in the config file. Empty parts are left out. */
export const TextList = withMeta(
  z.union([z.string(), z.array(z.string())]).transform((given) =>
    [given]
      .flat()
      .flatMap((text) => text.split(','))
      .map((text) => text.trim())
      .filter((text) => text !== ''),
  ),
  { kind: 'list', placeholder: 'TEXT,…' },
);

/** `name=value` pairs, repeated or separated by commas. */
export const Labels = withMeta(
  TextList.pipe(z.array(z.string().regex(/^[^=]+=/, { error: 'must be pairs of name=value' }))).transform(
    (pairs) => Object.fromEntries(pairs.map(splitPair)),
  ),
  { kind: 'list', placeholder: 'NAME=VALUE,…' },
);

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * `HOST:PORT`; an IPv6 host in brackets. IPv4 may have them too: who puts in an address that is told at the start does not know its family.
 * `[::]` is every address of the machine.
 */
export const ListenAddress = withMeta(
  z.string().transform((text, context): Address => {
    const [, bracketed, plain, port] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):([0-9]{1,5})$/.exec(text) ?? [];
    const host = bracketed ?? plain;
    if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
    context.addIssue({ code: 'custom', message: 'must be HOST:PORT, such as 127.0.0.1:9464 or [::]:9464' });
    return z.NEVER;
  }),
  { placeholder: 'HOST:PORT' },
);

function splitPair(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=');
  return [pair.slice(0, at), pair.slice(at + 1)];
}
