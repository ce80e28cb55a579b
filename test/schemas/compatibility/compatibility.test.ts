import { Ajv, type ValidateFunction } from 'ajv';
import { describe, expect, test } from 'vitest';
import { eventTypesOf } from '../../../schemas/asyncapi/document.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { TOPIC_IDS } from '../../../schemas/exchange/topics.ts';
import { FILES_OF_THE_LOG, generateJsonSchemas, schemaFileOf } from '../../../schemas/generate.ts';
import { runs } from '../../support/property-runs.ts';
import { incompatibilities, isStrict, type JsonSchema } from './incompatibilities.ts';
import { isTaken, type Message, madeMessages, recordedMessages } from './messages.ts';
import { currentChannels, releases } from './released.ts';

const generated = generateJsonSchemas();
const schemaNow = (file: string): JsonSchema => JSON.parse(generated.get(file) ?? 'null') ?? {};
const recorded = recordedMessages();
const all = releases();

test('every event of every topic was recorded, so each is tried', () => {
  const kinds = new Set(recorded.map(({ topic, type }) => `${topic} ${type}`));
  expect([...kinds].toSorted()).toEqual(
    TOPIC_IDS.flatMap((id) => eventTypesOf(id).map((type) => `${id} ${type}`)).toSorted(),
  );
});

test('there is a release to compare with', () => {
  expect(all.map(({ version }) => version)).toContain('0.1.0');
});

const validators = (schemas: ReadonlyMap<string, JsonSchema>): ReadonlyMap<string, ValidateFunction> => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true, formats: { uuid: true } });
  return new Map([...schemas].map(([file, schema]) => [file, ajv.compile(schema)]));
};
const validatorsNow = validators(new Map(FILES_OF_THE_LOG.map((file) => [file, schemaNow(file)])));

/** What a reader finds wrong who has these schemas. */
function objections(known: ReadonlyMap<string, ValidateFunction>, { type, event }: Message): string | null {
  const validate = known.get(schemaFileOf(type));
  if (validate === undefined || validate(event)) return null;
  return `${type}: ${JSON.stringify(validate.errors?.slice(0, 2))} in ${JSON.stringify(event).slice(0, 300)}`;
}

const MADE = 6_000;

describe.each(all)('what $version released', ({ schemas, channels, messages }) => {
  const validatorsThen = validators(schemas);

  test.each([...schemas.keys()])('%s is compatible with it (CONTRIBUTING.md, Contracts)', (file) => {
    expect(incompatibilities(schemas.get(file) ?? {}, schemaNow(file))).toEqual([]);
  });

  test('no topic is gone, nor has another number of partitions or another way of keeping', () => {
    const now = currentChannels();
    for (const [id, channel] of Object.entries(channels)) expect(now[id], id).toEqual(channel);
  });

  test('its messages are taken by this release, and hold by the schemas of this release', () => {
    expect(messages.length).toBeGreaterThan(200);
    expect(new Set(messages.map(({ topic }) => topic)).size).toBe(Object.keys(TOPICS).length);
    expect(messages.filter((message) => !isTaken(message))).toEqual([]);
    expect(messages.map((message) => objections(validatorsNow, message)).filter(Boolean)).toEqual([]);
  });

  test('messages of this release hold by its schemas', () => {
    const made = [...madeMessages(recorded, runs(MADE).numRuns, 20)];
    expect(made.length).toBeGreaterThan(0);
    const found = [...recorded, ...made].map((message) => objections(validatorsThen, message));
    expect(found.filter(Boolean).slice(0, 5)).toEqual([]);
  });
});

const FACT = schemaFileOf('fleetgc.node.disk-stats.v1');
const ORDER = schemaFileOf('fleetgc.node.observe.v1');
const LETTER = schemaFileOf('fleetgc.dead-letter.v1');

test('facts are open and orders are strict, as the checker tells them apart', () => {
  expect([FACT, LETTER].map((file) => isStrict(schemaNow(file)))).toEqual([false, false]);
  expect([ORDER, schemaFileOf('fleetgc.node.command.v1')].map((file) => isStrict(schemaNow(file)))).toEqual([
    true,
    true,
  ]);
});

interface Planted {
  readonly what: string;
  readonly file: string;
  // biome-ignore lint/suspicious/noExplicitAny: it changes JSON of any form
  readonly change: (schema: any) => void;
  readonly found: string;
}

test.each<Planted>([
  {
    what: 'a field that is gone',
    file: FACT,
    change: (s) => {
      delete s.properties.nodeLabels;
      s.required = s.required.filter((name: string) => name !== 'nodeLabels');
    },
    found: 'value.nodeLabels: the field is gone',
  },
  {
    what: 'a new field that must be there',
    file: FACT,
    change: (s) => {
      s.properties.extra = { type: 'string' };
      s.required.push('extra');
    },
    found: 'value.extra: must be there now',
  },
  {
    what: 'a field that need not be there any more',
    file: FACT,
    change: (s) => {
      s.required = s.required.filter((name: string) => name !== 'takenAt');
    },
    found: 'value.takenAt: need not be there',
  },
  {
    what: 'an enum with a value less',
    file: LETTER,
    change: (s) => {
      s.properties.cause.enum.pop();
    },
    found: 'value.cause: enum was',
  },
  {
    what: 'an enum with a value more',
    file: LETTER,
    change: (s) => {
      s.properties.cause.enum.push('bored');
    },
    found: 'value.cause: enum was',
  },
  {
    what: 'a new field in an order',
    file: ORDER,
    change: (s) => {
      s.properties.extra = { type: 'string' };
    },
    found: 'value.extra: a new field',
  },
  {
    what: 'a new field deep in an order',
    file: ORDER,
    change: (s) => {
      s.properties.reclaim.properties.extra = { type: 'string' };
    },
    found: 'value.reclaim.extra: a new field',
  },
  {
    what: 'an order that takes any field',
    file: ORDER,
    change: (s) => {
      delete s.additionalProperties;
    },
    found: 'value.*: was false',
  },
  {
    what: 'a lower bound',
    file: FACT,
    change: (s) => {
      s.properties.id.maxLength = 20;
    },
    found: 'value.id: maxLength was 200',
  },
  {
    what: 'another type',
    file: FACT,
    change: (s) => {
      s.properties.fleetgcVersion.type = 'number';
    },
    found: 'value.fleetgcVersion: type was "string"',
  },
  {
    what: 'null where there was none',
    file: FACT,
    change: (s) => {
      s.properties.takenAt = { anyOf: [s.properties.takenAt, { type: 'null' }] };
    },
    found: 'value.takenAt',
  },
  {
    what: 'another form in a union',
    file: FACT,
    change: (s) => {
      s.properties.filesystems.properties.nodefs.anyOf.push({ type: 'string' });
    },
    found: 'value.filesystems.nodefs: had 2 forms',
  },
  {
    what: 'another pattern',
    file: FACT,
    change: (s) => {
      s.properties.cluster.pattern = '^[a-z]+$';
    },
    found: 'value.cluster: pattern was',
  },
  {
    what: 'another row of a list',
    file: FACT,
    change: (s) => {
      s.properties.history.properties.nodefs.properties.availableBytes.items.items.push({ type: 'string' });
    },
    found: 'value.history.nodefs.availableBytes[]',
  },
])('the checker finds $what', ({ file, change, found }) => {
  const now = structuredClone(schemaNow(file));
  change(now);
  expect(incompatibilities(schemaNow(file), now).join('\n')).toContain(found);
});

test('a fact may gain a field that can be missing, at any depth, and other words for people', () => {
  // biome-ignore lint/suspicious/noExplicitAny: it changes JSON of any form
  const now: any = structuredClone(schemaNow(FACT));
  now.properties.extra = { type: 'string' };
  now.properties.takenAt.properties.extra = { type: 'string' };
  now.description = 'How full the disks are.';
  expect(incompatibilities(schemaNow(FACT), now)).toEqual([]);
});

test('messages show what a schema does not take any more', () => {
  // biome-ignore lint/suspicious/noExplicitAny: it changes JSON of any form
  const narrowed: any = structuredClone(schemaNow(LETTER));
  narrowed.properties.cause.enum = ['not-json'];
  const known = validators(new Map([[LETTER, narrowed]]));
  const letters = recorded.filter(({ type }) => schemaFileOf(type) === LETTER);
  const found = letters.map((message) => objections(known, message)).filter((each) => each !== null);
  expect(found.join()).toContain('/cause');
});
