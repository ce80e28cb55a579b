import { execFile } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments, type ScalarTag } from 'yaml';
import { z } from 'zod';
import { readVerbArguments } from '../../cli/framework/verb-arguments.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { loadFunction } from '../../services/deciders/functions/decision-function.ts';
import { MOST_CONNECTIONS_OF_AN_ADDRESS } from '../../services/deciders/functions/http/serve.ts';
import { codeBlocks } from '../docs/markdown.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { textOf, verbNamed } from './files.ts';

const imageGc = await loadFunction('image-gc');

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

/** So many requests at once as whoever passes all of them on has connections for. */
const FITS = z.int().positive().max(MOST_CONNECTIONS_OF_AN_ADDRESS);

const Probe = (path: string) => z.object({ httpGet: z.object({ path: z.literal(path), port: z.int() }) });

describe('on Knative', () => {
  const Service = z.object({
    metadata: z.object({ name: z.string(), namespace: z.literal('fleetgc') }),
    spec: z.object({
      template: z.object({
        spec: z.object({
          containerConcurrency: FITS,
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

describe('on Azure Functions', () => {
  const [host, bindings] = codeBlocks(textOf('docs/operating/functions.md'), 'json').map((code): unknown =>
    JSON.parse(code),
  );

  test('the host passes requests on as they are, to a command that the program takes', () => {
    const { customHandler } = z
      .object({
        extensions: z.object({
          http: z.object({ routePrefix: z.literal(''), maxConcurrentRequests: FITS }),
        }),
        customHandler: z.object({
          enableForwardingHttpRequest: z.literal(true),
          description: z.object({
            defaultExecutablePath: z.literal('sh'),
            arguments: z.tuple([z.literal('-c'), z.string()]),
          }),
        }),
      })
      .parse(host);
    const [, command] = customHandler.description.arguments;
    const words = command.replace('$FUNCTIONS_CUSTOMHANDLER_PORT', '7071').split(' ');
    expect(words.slice(0, 3)).toEqual(['exec', 'bin/fleetgc', 'serve']);
    expect(readVerbArguments(verbNamed('serve'), words.slice(3))).toMatchObject({
      kind: 'given',
      flags: { service: 'image-gc', http: '127.0.0.1:7071', httpAddress: 'none' },
    });
  });

  test('every path is that of the function, and only who has its key calls it', () => {
    expect(bindings).toMatchObject({
      bindings: [{ type: 'httpTrigger', route: '{*path}', authLevel: 'function' }, { type: 'http' }],
    });
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
            Topics: z.tuple([z.string()]),
            SelfManagedKafkaEventSourceConfig: z.object({ ConsumerGroupId: z.string() }),
          }),
        }),
      }),
      Parameters: z.looseObject({
        Service: z.object({ Default: z.string(), AllowedValues: z.array(z.string()) }),
        Topic: z.object({ Default: z.string() }),
        KafkaPrefix: z.object({ Default: z.literal('') }),
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

  test('the password of Kafka is asked for at the start, and only the function can read it', async () => {
    const { AWS_LAMBDA_EXEC_WRAPPER: wrapper, FLEETGC_KAFKA_PASSWORD_FILE: file } =
      template.Resources.Function.Properties.Environment.Variables;
    expect([wrapper, file]).toEqual(['/opt/fleetgc/start', '/tmp/kafka-password']);
    const directory = temporaryDirectory();
    const [start, secret, password] = ['start', 'secret', 'password'].map((name) => join(directory, name));
    if (start === undefined || secret === undefined || password === undefined) throw new Error('no paths');
    writeFileSync(start, textOf('deploy/functions/lambda/start'), { mode: 0o755 });
    writeFileSync(secret, '#!/bin/sh\nprintf "%s of kafka" "$1"\n', { mode: 0o755 });
    const env = { PATH: process.env.PATH ?? '', FLEETGC_KAFKA_PASSWORD_FILE: password };
    const { stdout } = await promisify(execFile)(start, ['printf', '%s', 'the function'], { env });
    expect(stdout).toBe('the function');
    expect(readFileSync(password, 'utf8')).toBe('kafka-password of kafka');
    expect(statSync(password).mode & 0o777).toBe(0o600);
    writeFileSync(secret, '#!/bin/sh\nexit 1\n');
    await expect(promisify(execFile)(start, ['printf', '%s', 'the function'], { env })).rejects.toThrow();
  });

  test('a partition comes again from where it stopped, which Lambda does for provisioned pollers alone', () => {
    const { FunctionResponseTypes, ProvisionedPollerConfig } = template.Resources.Mapping.Properties;
    expect(FunctionResponseTypes).toEqual(['ReportBatchItemFailures']);
    expect(ProvisionedPollerConfig).toBeDefined();
  });

  test.each(['', 'acme.'])(
    'with the prefix %j it reads the topic of the decision service, as its group',
    (prefix) => {
      const { Service, Topic } = template.Parameters;
      const values = new Map([
        ['KafkaPrefix', prefix],
        ['Service', Service.Default],
        ['Topic', Topic.Default],
      ]);
      const substituted = (text: string) =>
        text.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole);
      const { SelfManagedKafkaEventSourceConfig: config, Topics } = template.Resources.Mapping.Properties;
      const [first = 'inventory'] = imageGc.topics;
      expect(Topics.map(substituted)).toEqual([`${prefix}${TOPICS[first].name}`]);
      expect(substituted(config.ConsumerGroupId)).toBe(`${prefix}${imageGc.group}`);
      expect(template.Resources.Function.Properties.Environment.Variables).toMatchObject({
        FLEETGC_KAFKA_PREFIX: 'KafkaPrefix',
      });
      expect(Service.AllowedValues).toEqual(
        verbNamed('serve').options.find(({ key }) => key === 'service')?.choices,
      );
    },
  );
});
