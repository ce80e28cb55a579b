import type { ReflectorSink } from './reflector.ts';

/** What is read of a kind goes to each of them, in order. */
export const everySink = (sinks: readonly ReflectorSink[]): ReflectorSink => ({
  beginList: (kind) => {
    for (const sink of sinks) sink.beginList(kind);
  },
  listed: (kind, objects) => {
    for (const sink of sinks) sink.listed(kind, objects);
  },
  endList: (kind, isWatched) => {
    for (const sink of sinks) sink.endList(kind, isWatched);
  },
  watched: (kind) => {
    for (const sink of sinks) sink.watched(kind);
  },
  put: (kind, object) => {
    for (const sink of sinks) sink.put(kind, object);
  },
  gone: (kind, object) => {
    for (const sink of sinks) sink.gone(kind, object);
  },
  failed: (kind, reason) => {
    for (const sink of sinks) sink.failed(kind, reason);
  },
  wentBack: (kind) => {
    for (const sink of sinks) sink.wentBack(kind);
  },
});
