import { z } from 'zod';
import { EvictionSignal, LONGEST_GRACE_PERIOD_MS } from './eviction.ts';
import { EVICTION_MAPS, WRITTEN_SIGNALS } from './eviction-settings.ts';
import { MOST_PRIORITY_OF_KUBERNETES } from './kubernetes-policies.ts';
import { NOT_OF_A_KUBELET, PAIRS } from './policy-checks.ts';
import { DEFAULT_IMAGE_MINIMUM_AGE_MS, DEFAULT_THRESHOLDS } from './policy-defaults.ts';
import { COMMAND_LIFETIME_RANGE_MS, PolicyFile } from './policy-file.ts';
import { POLICY_OBJECTS, PolicyObjectStatus } from './policy-object.ts';
import { DURATION_PATTERN, QUANTITY_PATTERN } from './quantity.ts';
import { durationText } from './value-text.ts';

/** A structural schema of OpenAPI 3, as Kubernetes wants it: no references, and a type everywhere. */
type Structural = { readonly [key: string]: unknown };

/** As much of a JSON Schema as ours have. */
const JsonSchema = z.looseObject({
  type: z.string(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
  const: z.string().optional(),
  exclusiveMinimum: z.int().optional(),
});

const LONGEST_TEXT = 512;
const MOST_ENTRIES = 1_000;

/** Defaults stay out: what people leave out they have left out, and which release fills it in is told by the policy that was applied. */
const NOT_STRUCTURAL: readonly string[] = [
  '$schema',
  'default',
  'propertyNames',
  'additionalProperties',
  'const',
  'exclusiveMinimum',
];
/** Where a text has one of the well-known forms, its pattern says the same. */
const isDate = (schema: Structural): boolean => schema.format === 'date-time';

/** A misspelt condition that an API server cut away would leave a policy for all nodes: the controller refuses it instead. */
const UNKNOWN_IS_KEPT = { 'x-kubernetes-preserve-unknown-fields': true };

/** Throws where the schema says what no structural schema can. */
function structural(value: unknown, path = ''): Structural {
  const schema = JsonSchema.parse(value);
  const kept = Object.entries(schema).filter(
    ([key]) => !NOT_STRUCTURAL.includes(key) && !(key === 'pattern' && isDate(schema)),
  );
  return {
    ...Object.fromEntries(kept),
    ...(schema.const !== undefined && { enum: [schema.const] }),
    ...boundsOf(schema, path),
    ...(schema.properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, property]) => [
          name,
          structural(property, path === '' ? name : `${path}.${name}`),
        ]),
      ),
    }),
    ...(schema.additionalProperties === false && UNKNOWN_IS_KEPT),
    ...(schema.items !== undefined && { items: structural(schema.items, `${path}[]`) }),
    ...valuesOf(schema, path),
  };
}

/** Of what is unbounded an API server cannot tell what a rule about it costs. */
function boundsOf(schema: z.infer<typeof JsonSchema>, path: string): Structural {
  switch (schema.type) {
    case 'string':
      return isDate(schema) || schema.enum !== undefined
        ? {}
        : { maxLength: LONGEST_TEXT, ...bounds(schema, 'maxLength'), ...TEXTS_OF_SETTINGS.get(path) };
    case 'array':
      return { maxItems: MOST_ENTRIES, ...bounds(schema, 'maxItems') };
    case 'integer':
      return {
        format: 'int64',
        ...(schema.exclusiveMinimum !== undefined && { minimum: schema.exclusiveMinimum + 1 }),
      };
    default:
      return {};
  }
}

const bounds = (schema: Structural, key: string): Structural =>
  schema[key] === undefined ? {} : { [key]: schema[key] };

/** Of a map of names to texts. */
const valuesOf = ({ additionalProperties: values }: z.infer<typeof JsonSchema>, path: string): Structural =>
  typeof values === 'object' && values !== null
    ? { additionalProperties: structural(values, `${path}.*`), maxProperties: MOST_ENTRIES }
    : {};

const Spec = z.looseObject({
  properties: z.looseObject({
    kind: z.unknown(),
    name: z.unknown(),
    priority: z.looseObject({}),
    selector: z.looseObject({ properties: z.looseObject({ clusters: z.unknown() }) }),
  }),
  required: z.array(z.string()),
});

/** A policy as in a file, but for what its object says already: its name, and the only cluster that it can select. */
function specSchema(): Structural {
  const whole = Spec.parse(structural(z.toJSONSchema(PolicyFile, { io: 'input', target: 'draft-2020-12' })));
  const { kind: _kind, name: _name, priority, selector, ...properties } = whole.properties;
  const { clusters: _clusters, ...conditions } = selector.properties;
  return emptiesKept({
    type: 'object',
    description: 'A policy for nodes of this cluster, in the settings of a policy file.',
    ...UNKNOWN_IS_KEPT,
    properties: {
      priority: { ...priority, maximum: MOST_PRIORITY_OF_KUBERNETES, description: PRIORITY },
      selector: { ...selector, description: SELECTOR, properties: conditions },
      ...properties,
    },
    required: whole.required.filter((name) => name !== 'name'),
    'x-kubernetes-validations': POLICY_RULES.map((rule) => ({ ...rule })),
  });
}

/**
 * An API server takes a null away where none may be. A template that left a condition empty would then leave a policy for all nodes, and
 * one that left a keep list empty would keep nothing: so nulls stay, and are refused as in a file.
 */
const emptiesKept = (schema: Structural): Structural => {
  const { data } = Properties.safeParse(schema);
  if (data === undefined) return schema;
  const kept = ([name, property]: readonly [string, Structural]) =>
    [name, { ...emptiesKept(property), nullable: true }] as const;
  return { ...schema, properties: Object.fromEntries(Object.entries(data.properties).map(kept)) };
};
const Properties = z.looseObject({ properties: z.record(z.string(), z.looseObject({})) });

const PRIORITY = `Of the policies that select a node, the one with the highest priority holds; ${MOST_PRIORITY_OF_KUBERNETES} when not given. What the operators of the fleet apply has a higher one, and holds, unless they gave it a lower one so that it gives way.`;
const SELECTOR =
  'Which nodes of this cluster the policy is for: those that meet every given condition. Without conditions, all of them.';

function statusSchema(): Structural {
  const { properties, ...status } = Status.parse(
    structural(z.toJSONSchema(PolicyObjectStatus, { io: 'input', target: 'draft-2020-12' })),
  );
  const { conditions } = properties;
  const byType = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] };
  return { ...status, properties: { ...properties, conditions: { ...conditions, ...byType } } };
}
const Status = z.looseObject({ properties: z.looseObject({ conditions: z.looseObject({}) }) });

const NAME_RULE = {
  rule: "self.metadata.name.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$') && size(self.metadata.name) <= 60",
  message:
    'metadata.name must be at most 60 lower-case letters, digits and dashes, starting and ending with a letter or digit: with the name of the cluster it is the name of the policy',
};

const readyOf = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;
const column = (name: string, type: string, jsonPath: string, more: object = {}): object => ({
  name,
  type,
  jsonPath,
  ...more,
});
const WIDE = { priority: 1 };

/** What `kubectl get` shows. */
const COLUMNS = [
  column('Mode', 'string', '.spec.mode'),
  column('Ready', 'string', readyOf('status')),
  column('Reason', 'string', readyOf('reason')),
  column('Selected', 'integer', '.status.nodesSelected'),
  column('Following', 'integer', '.status.nodesFollowing'),
  column('Changed', 'date', '.status.lastChangeTime'),
  column('Age', 'date', '.metadata.creationTimestamp'),
  column('Policy', 'string', '.status.policyName', WIDE),
  column('Priority', 'integer', '.spec.priority', WIDE),
  column('Message', 'string', readyOf('message'), WIDE),
];

/** The definition of the kind, as an API server takes it. */
export function policyDefinition(): Structural {
  const { group, version, kind, resource } = POLICY_OBJECTS;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource}.${group}`, labels: { 'app.kubernetes.io/name': 'fleetgc' } },
    spec: {
      group,
      scope: 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: resource,
        singular: kind.toLowerCase(),
        shortNames: ['gcpolicy'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description:
                'When images, containers and pod logs go from nodes of this cluster, and which stay.',
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: specSchema(),
                status: statusSchema(),
              },
              required: ['spec'],
              'x-kubernetes-validations': [NAME_RULE],
            },
          },
        },
      ],
    },
  };
}

/*
 * What `policy-checks.ts` says of settings, in CEL: an API server then refuses at once what the controller would refuse later. The
 * controller checks again, so a rule that is missing here lets nothing through.
 */

/** A rule of CEL about the spec, and what is told where it is broken. */
interface ValidationRule {
  readonly rule: string;
  readonly message: string;
}

const LONGEST_VALUE = 64;
const DURATIONS = [
  'imageMinimumGCAge',
  'imageMaximumGCAge',
  'minimumContainerTTLDuration',
  'minimumCreatedContainerAge',
  'maximumDeadContainerAge',
  'commandLifetime',
  ...WRITTEN_SIGNALS.map((signal) => `evictionSoftGracePeriod.${signal}`),
];
const SIZES = ['imageGCStartBelowAvailable', 'imageGCUntilAvailable'];
const AMOUNTS = EVICTION_MAPS.filter((map) => map !== 'evictionSoftGracePeriod').flatMap((map) =>
  WRITTEN_SIGNALS.map((signal) => `${map}.${signal}`),
);

/** The forms of texts that stand for something else, by the path of their setting. */
const TEXTS_OF_SETTINGS: ReadonlyMap<string, object> = new Map<string, object>([
  ...DURATIONS.map((path) => [path, { maxLength: LONGEST_VALUE, pattern: DURATION_PATTERN }] as const),
  ...SIZES.map((path) => [path, { maxLength: LONGEST_VALUE, pattern: QUANTITY_PATTERN }] as const),
  ...AMOUNTS.map((path) => [path, { maxLength: LONGEST_VALUE }] as const),
]);

/** A setting as CEL knows it: a dot in a name is written out. */
const field = (...path: readonly string[]): string =>
  ['self', ...path.map((name) => name.replaceAll('.', '__dot__'))].join('.');
const isThere = (...path: readonly string[]): string =>
  path.map((_, at) => `has(${field(...path.slice(0, at + 1))})`).join(' && ');
const orElse = (setting: string, value: string | number): string =>
  `(has(${field(setting)}) ? ${field(setting)} : ${value})`;
const duration = (text: string): string => `duration(${text})`;
const time = (ms: number): string => duration(`'${durationText(ms)}'`);
/** Where the condition is not met, the rule says nothing. */
const where = (condition: string, rule: string): string => `!(${condition}) || ${rule}`;

const [LOW, HIGH] = ['imageGCLowThresholdPercent', 'imageGCHighThresholdPercent'] as const;
const [INODES_LOW, INODES_HIGH] = ['imageGCInodesLowThresholdPercent', 'imageGCInodesHighThresholdPercent'];
const [START_BELOW, UNTIL] = ['imageGCStartBelowAvailable', 'imageGCUntilAvailable'];

const THRESHOLDS: readonly ValidationRule[] = [
  {
    rule: `${orElse(LOW, DEFAULT_THRESHOLDS[LOW])} < ${orElse(HIGH, DEFAULT_THRESHOLDS[HIGH])}`,
    message: `${LOW} (${DEFAULT_THRESHOLDS[LOW]} by default) must be below ${HIGH} (${DEFAULT_THRESHOLDS[HIGH]} by default)`,
  },
  {
    rule: where(
      `${isThere(INODES_LOW)} && ${isThere(INODES_HIGH)}`,
      `${field(INODES_LOW)} < ${field(INODES_HIGH)}`,
    ),
    message: `${INODES_LOW} must be below ${INODES_HIGH}`,
  },
  {
    rule: where(
      `${isThere(START_BELOW)} && ${isThere(UNTIL)}`,
      `quantity(${field(START_BELOW)}).isLessThan(quantity(${field(UNTIL)}))`,
    ),
    message: `${UNTIL} must be above ${START_BELOW}`,
  },
  ...PAIRS.map(([one, other]) => ({
    rule: `has(${field(one)}) == has(${field(other)})`,
    message: `${one} and ${other} mean nothing without each other`,
  })),
];

const GRACE_PERIODS: readonly ValidationRule[] = [
  ...WRITTEN_SIGNALS.map((signal) => ({
    rule: where(isThere('evictionSoft', signal), `(${isThere('evictionSoftGracePeriod', signal)})`),
    message: `evictionSoft ${signal} needs a grace period: write it to evictionSoftGracePeriod`,
  })),
  ...EvictionSignal.options.map((signal) => ({
    rule: where(
      isThere('evictionSoftGracePeriod', signal),
      `${duration(field('evictionSoftGracePeriod', signal))} <= ${time(LONGEST_GRACE_PERIOD_MS)}`,
    ),
    message: `evictionSoftGracePeriod ${signal} must be at most 1h58m: nodes tell the past two hours`,
  })),
];

const isKubelet = `has(self.profile) && self.profile == 'kubelet'`;
const minimumAge = `(!has(self.imageMinimumGCAge) || ${duration('self.imageMinimumGCAge')} == ${time(0)} ? ${time(DEFAULT_IMAGE_MINIMUM_AGE_MS)} : ${duration('self.imageMinimumGCAge')})`;

const KUBELET: readonly ValidationRule[] = [
  {
    rule: where(
      `${isKubelet} && has(self.imageMaximumGCAge) && ${duration('self.imageMaximumGCAge')} > ${time(0)}`,
      `${duration('self.imageMaximumGCAge')} > ${minimumAge}`,
    ),
    message:
      'imageMaximumGCAge must be longer than imageMinimumGCAge, as the kubelet demands; 0s switches it off',
  },
  {
    rule: where(isKubelet, NOT_OF_A_KUBELET.map((setting) => `!has(${field(setting)})`).join(' && ')),
    message: `these are no part of profile: kubelet: ${NOT_OF_A_KUBELET.join(', ')}`,
  },
];

const atLeast = (setting: string, ms: number): string => `${duration(field(setting))} >= ${time(ms)}`;
const NOT_NEGATIVE = ['imageMaximumGCAge', 'minimumContainerTTLDuration', 'minimumCreatedContainerAge'];

const RANGES: readonly ValidationRule[] = [
  ...NOT_NEGATIVE.map((setting) => ({
    rule: where(isThere(setting), atLeast(setting, 0)),
    message: `${setting} must not be negative`,
  })),
  {
    rule: where(
      isThere('maximumDeadContainerAge'),
      `${duration('self.maximumDeadContainerAge')} > ${time(0)}`,
    ),
    message: 'maximumDeadContainerAge must be above 0s; leave the key out for no maximum',
  },
  {
    rule: where(
      isThere('commandLifetime'),
      `${atLeast('commandLifetime', COMMAND_LIFETIME_RANGE_MS.min)} && ${duration('self.commandLifetime')} <= ${time(COMMAND_LIFETIME_RANGE_MS.max)}`,
    ),
    message: 'commandLifetime must be from 1s to 10m',
  },
];

/** What is said of the settings of a spec, beside their types. */
const POLICY_RULES: readonly ValidationRule[] = [...THRESHOLDS, ...GRACE_PERIODS, ...KUBELET, ...RANGES];
