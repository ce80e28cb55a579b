import type { OpenTracer, TracingChoice, TracingParts } from './port.ts';

/** The code of OpenTelemetry is only loaded where somebody asked for traces. */
export async function openTracer(choice: TracingChoice, parts: TracingParts): Promise<OpenTracer> {
  const { createOtlpTracer } = await import('./otlp-tracer.ts');
  return createOtlpTracer(choice, parts);
}
