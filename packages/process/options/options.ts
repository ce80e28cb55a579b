import { z } from 'zod';
import { type OptionMeta, optionMeta } from './option-types.ts';

/** The options of a verb: one schema per option, by its name in camelCase. */
export type OptionsSchema = z.ZodObject;

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
  readonly placeholder: string;
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

export const variableOf = (key: string): string =>
  `FLEETGC_${key.split(WORD_BOUNDARY).join('_').toUpperCase()}`;

function describeOption(key: string, schema: z.core.$ZodType): OptionInfo {
  const layers = unwrap(schema);
  const prefault = layers.find((layer) => layer instanceof z.ZodPrefault)?.def.defaultValue;
  return {
    key,
    flag: flagOf(key),
    variable: variableOf(key),
    kind: outermost(layers, 'kind') ?? 'value',
    positional: outermost(layers, 'positional') ?? false,
    commandLineOnly: outermost(layers, 'positional') ?? outermost(layers, 'commandLineOnly') ?? false,
    placeholder: choicesOf(layers) ?? outermost(layers, 'placeholder') ?? 'TEXT',
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

function choicesOf(layers: readonly z.core.$ZodType[]): string | undefined {
  const choices = layers.find((layer) => layer instanceof z.ZodEnum);
  return choices?.options.join('|');
}
