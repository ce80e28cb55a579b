import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments, type ScalarTag } from 'yaml';
import { z } from 'zod';
import { readVerbArguments } from '../../cli/framework/verb-arguments.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { decider as imageGc } from '../../services/functions/deciders/image-gc.ts';
import { textOf, verbNamed } from './files.ts';

/*
 * What stands in the manifests is held against the program. That Knative takes the Service: functions.world.test.ts. That it takes the
 * rest, and CloudFormation the template, is tested nowhere: neither runs offline.
 */

const KNATIVE = 'deploy/functions/knative';
const objectsOf = (file: string) =>
  parseAllDocuments(textOf(`${KNATIVE}/${file}`)).map((document) =>
    z
      .looseObject({
        apiVersion: z.string(),
        kind: z.string(),
        metadata: z.looseObject({ name: z.string() }),
      })
      .parse(document.toJS()),
  );
const only = (file: string, kind: string) => {
  const found = objectsOf(file).filter((each) => each.kind === kind);
  expect(found).toHaveLength(1);
  return found[0];
};

const Ref = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string() });

const Probe = (path: string) => z.object({ httpGet: z.object({ path: z.literal(path), port: z.int() }) });

describe('on Knative', () => {
  const Service = z.object({
    metadata: z.object({ name: z.string(), namespace: z.literal('fleetgc') }),
    spec: z.object({
      template: z.object({
        spec: z.object({
          containers: z.tuple([
            z.object({
              args: z.tuple([z.literal('serve')]).rest(z.string()),
              env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
              ports: z.tuple([z.object({ name: z.literal('http1'), containerPort: z.int() })]),
              livenessProbe: Probe('/livez'),
              readinessProbe: Probe('/readyz'),
            }),
          ]),
        }),
      }),
    }),
  });
  const service = Service.parse(only('image-gc.yaml', 'Service'));
  const [container] = service.spec.template.spec.containers;
  const [, ...args] = container.args;

  test('the function listens where it is called, and is asked whether it is ready elsewhere', () => {
    const given = readVerbArguments(verbNamed('serve'), args);
    expect(given).toMatchObject({
      kind: 'given',
      flags: { service: 'image-gc', policy: 'topic', publish: true },
    });
    const [called] = container.ports;
    expect(given).toMatchObject({ flags: { http: `0.0.0.0:${called.containerPort}` } });
    for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
      expect(container.env).toContainEqual({
        name: 'FLEETGC_HTTP_ADDRESS',
        value: `0.0.0.0:${httpGet.port}`,
      });
      expect(httpGet.port).not.toBe(called.containerPort);
    }
  });

  test('whoever calls it makes no facts up', () => {
    expect(container.env).toContainEqual({ name: 'FLEETGC_TRUST_FACTS', value: 'required' });
  });

  test('the source reads the topics of the decision service, as its group', () => {
    const { spec } = z
      .object({
        spec: z.object({
          topics: z.array(z.string()),
          consumerGroup: z.string(),
          sink: z.object({ ref: Ref }),
        }),
      })
      .parse(only('image-gc.yaml', 'KafkaSource'));
    expect(spec.topics).toEqual(imageGc.topics.map((id) => TOPICS[id].name));
    expect(spec.consumerGroup).toBe(imageGc.group);
    const sink = { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: service.metadata.name };
    expect(spec.sink.ref).toEqual(sink);
    const { spec: trigger } = z
      .object({ spec: z.object({ subscriber: z.object({ ref: Ref }) }) })
      .parse(only('trigger.yaml', 'Trigger'));
    expect(trigger.subscriber.ref).toEqual(sink);
  });

  test.each([
    ['image-gc.yaml', 'KafkaSource'],
    ['trigger.yaml', 'Trigger'],
  ])('what will never work is kept: of %s, %s', (file, kind) => {
    const { spec } = z
      .object({ spec: z.object({ delivery: z.object({ deadLetterSink: z.object({ ref: Ref }) }) }) })
      .parse(only(file, kind));
    const { apiVersion, metadata } = { ...only('image-gc.yaml', 'KafkaSink') };
    expect(spec.delivery.deadLetterSink.ref).toEqual({ apiVersion, kind: 'KafkaSink', name: metadata?.name });
  });
});

describe('on AWS Lambda', () => {
  /** Short forms of CloudFormation, which say of a value where it comes from. */
  const SHORT: ScalarTag[] = ['!Ref', '!GetAtt', '!Sub'].map((tag) => ({
    tag,
    resolve: (text: string) => text,
  }));
  const template = z
    .object({
      Resources: z.object({
        Function: z.object({
          Properties: z.looseObject({
            Handler: z.string(),
            Runtime: z.string(),
            Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }),
          }),
        }),
        Mapping: z.object({
          Properties: z.looseObject({
            FunctionResponseTypes: z.array(z.string()),
            ProvisionedPollerConfig: z.unknown(),
            SelfManagedKafkaEventSourceConfig: z.object({ ConsumerGroupId: z.string() }),
          }),
        }),
      }),
      Parameters: z.looseObject({
        Service: z.object({ Default: z.string(), AllowedValues: z.array(z.string()) }),
        Topic: z.object({ Default: z.string() }),
      }),
    })
    .parse(
      parse(textOf('deploy/functions/lambda/template.yaml').replace('!Join ', ''), { customTags: SHORT }),
    );

  test('the command of the page gives each parameter that has no default', () => {
    const page = textOf('docs/operating/functions.md');
    const [, given = ''] = /--parameter-overrides([^`]*)/.exec(page) ?? [];
    const needed = Object.entries(template.Parameters).flatMap(([name, said]) =>
      z.looseObject({ Default: z.string().optional() }).parse(said).Default === undefined ? [name] : [],
    );
    expect([...given.matchAll(/([A-Za-z]+)=/g)].map(([, name]) => name).toSorted()).toEqual(
      needed.toSorted(),
    );
  });

  test('it calls the handler of the bundle, which reads its options from the environment', () => {
    const { Handler, Runtime, Environment } = template.Resources.Function.Properties;
    expect([Handler, Runtime]).toEqual(['index.handler', 'nodejs24.x']);
    expect(Environment.Variables).toMatchObject({
      FLEETGC_PUBLISH: 'true',
      FLEETGC_TRUST_FACTS: 'required',
      // What it publishes it brings there by a login of its own, and not by that of the pollers.
      FLEETGC_KAFKA_SASL_MECHANISM: 'scram-sha-512',
    });
  });

  test('a partition comes again from where it stopped, which Lambda does for provisioned pollers alone', () => {
    const { FunctionResponseTypes, ProvisionedPollerConfig } = template.Resources.Mapping.Properties;
    expect(FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    expect(ProvisionedPollerConfig).toBeDefined();
  });

  test('it reads the topic of the decision service, as its group', () => {
    const { Service, Topic } = template.Parameters;
    expect(Topic.Default).toBe(imageGc.topics.map((id) => TOPICS[id].name)[0]);
    const { ConsumerGroupId } = template.Resources.Mapping.Properties.SelfManagedKafkaEventSourceConfig;
    expect(`${ConsumerGroupId.split('$')[0]}${Service.Default}`).toBe(imageGc.group);
    expect(Service.AllowedValues).toEqual(
      verbNamed('serve').options.find(({ key }) => key === 'service')?.choices,
    );
  });
});
