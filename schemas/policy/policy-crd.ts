import { z } from 'zod';
import { MOST_PRIORITY_OF_KUBERNETES } from './kubernetes-policies.ts';
import { POLICY_RULES, TEXTS_OF_SETTINGS } from './policy-crd-rules.ts';
import { PolicyFile } from './policy-file.ts';
import { POLICY_OBJECTS, PolicyObjectStatus } from './policy-object.ts';

/** A structural schema of OpenAPI 3, as Kubernetes wants it: no references, and a type everywhere. */
export type Structural = { readonly [key: string]: unknown };

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
export function structural(value: unknown, path = ''): Structural {
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
