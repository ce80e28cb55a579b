import { describe, expect, test } from 'vitest';
import { readTracing } from '../../../cli/options/common-options.ts';

const ALL = { ratio: 1, isParentBased: true };
const ON = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318' };

describe('where traces go', () => {
  test.each([
    ['the option', 'http://a:4318', {}, 'http://a:4318/v1/traces'],
    ['the option before the variables', 'http://a:4318', ON, 'http://a:4318/v1/traces'],
    ['the option with a path of its own', 'https://a/otlp/', {}, 'https://a/otlp/v1/traces'],
    ['the option with the whole path', 'https://a/v1/traces', {}, 'https://a/v1/traces'],
    ['the variable of all signals', undefined, ON, 'http://otel:4318/v1/traces'],
    [
      'the variable of traces alone, as it is',
      undefined,
      { ...ON, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:1/x' },
      'http://t:1/x',
    ],
  ])('%s', (_, option, environment, url) => {
    expect(readTracing(option, environment)).toEqual({ tracing: { url, sampling: ALL }, warnings: [] });
  });
});

test.each([
  ['nobody asks', {}],
  ['a variable is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ['all of OpenTelemetry is off', { ...ON, OTEL_SDK_DISABLED: 'TRUE' }],
  ['there is no exporter', { ...ON, OTEL_TRACES_EXPORTER: 'none' }],
])('there are no traces where %s', (_, environment) => {
  expect(readTracing(undefined, environment)).toEqual({ tracing: null, warnings: [] });
});

test.each([
  ['gRPC', { ...ON, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'FleetGC speaks http/protobuf'],
  ['JSON', { ...ON, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }, 'FleetGC speaks http/protobuf'],
  ['no URL', { OTEL_EXPORTER_OTLP_ENDPOINT: 'otel:4318' }, 'no http or https URL'],
  ['an unknown sampler', { ...ON, OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'name no sampler'],
  ['a share that is none', { ...ON, OTEL_TRACES_SAMPLER_ARG: '2' }, 'name no sampler'],
])('what cannot be done of the variables is a warning: %s', (_, environment, says) => {
  const { tracing, warnings } = readTracing(undefined, environment);
  expect(tracing).toBeNull();
  expect(warnings).toEqual([expect.stringContaining(says)]);
});

test.each([
  ['always_on', { ratio: 1, isParentBased: false }],
  ['always_off', { ratio: 0, isParentBased: false }],
  ['traceidratio', { ratio: 0.25, isParentBased: false }],
  ['parentbased_always_on', { ratio: 1, isParentBased: true }],
  ['parentbased_always_off', { ratio: 0, isParentBased: true }],
  ['parentbased_traceidratio', { ratio: 0.25, isParentBased: true }],
])('the sampler %s', (OTEL_TRACES_SAMPLER, sampling) => {
  const environment = { ...ON, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: '0.25' };
  expect(readTracing(undefined, environment).tracing?.sampling).toEqual(sampling);
});
