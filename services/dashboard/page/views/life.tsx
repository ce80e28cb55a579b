import { useMemo, useState } from 'preact/hooks';
import type { DashboardLife } from '../../../../schemas/reports/dashboard-object.ts';
import { addressWith, go, objectAddress } from '../addresses.ts';
import { useReading } from '../asking.ts';
import { Table } from '../document.tsx';
import { Reading, Section, Select, Shown } from '../parts.tsx';
import { countText } from '../texts.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How far back is read; a long time of a large fleet takes its time. */
const SPANS = [
  { span: '6h', text: 'six hours', ms: 6 * HOUR_MS },
  { span: '1d', text: 'a day', ms: DAY_MS },
  { span: '7d', text: 'seven days', ms: 7 * DAY_MS },
  { span: '31d', text: '31 days', ms: 31 * DAY_MS },
] as const;
const spanOf = (text: string | null): (typeof SPANS)[number] =>
  SPANS.find(({ span }) => span === text) ?? SPANS[1];

interface LifeProps {
  readonly kind: string;
  readonly id: string;
  readonly node: string;
  readonly query: URLSearchParams;
}

/** What became of it on one node, and why, in the words of `fleetgc audit explain`. */
export function Life({ kind, id, node, query }: LifeProps) {
  const { span, ms } = spanOf(query.get('span'));
  const [isStopped, setStopped] = useState(false);
  // One question while it is looked at: with each another beginning it would be read again and again.
  const path = useMemo(() => {
    const from = String(Math.floor((Date.now() - ms) / 1_000) * 1_000);
    return `/api/object/life?${new URLSearchParams({ kind, id, node, from })}`;
  }, [kind, id, node, ms]);
  const answered = useReading<DashboardLife>(isStopped ? null : path);
  return (
    <Section id="life" heading={<>Its life on {node}</>}>
      <div class="controls">
        <Select
          label="Of the last"
          value={span}
          options={SPANS.map((each) => [each.span, each.text])}
          onChange={(chosen) => {
            setStopped(false);
            go(addressWith(objectAddress(kind, id), query, { node, span: chosen }), 'replace');
          }}
        />
      </div>
      {isStopped ? (
        <p role="status">
          Stopped.{' '}
          <button type="button" onClick={() => setStopped(false)}>
            Read it after all
          </button>
        </p>
      ) : (
        <Shown answered={answered}>
          {(life) => (
            <Reading reading={life} onStop={() => setStopped(true)}>
              {(told) => <Told told={told} />}
            </Reading>
          )}
        </Shown>
      )}
    </Section>
  );
}

type ToldLife = Extract<DashboardLife, { state: 'read' }>['value'];

function Told({ told }: { readonly told: ToldLife }) {
  switch (told.status) {
    case 'not-found':
      return <p>Nothing of it in that time, in {countText(told.records)} records of the event log.</p>;
    case 'ambiguous':
      return (
        <>
          <p>That may be one of several things:</p>
          <ul>
            {told.candidates.map(({ kind, id, name, cluster, node }) => (
              <li key={`${kind} ${id}`}>
                {kind === 'node' ? (
                  name
                ) : (
                  <a href={objectAddress(kind, id, `${cluster}/${node}`)}>{`${kind} ${name}`}</a>
                )}
              </li>
            ))}
          </ul>
        </>
      );
    case 'explained':
      return <Entries told={told} />;
  }
}

type Entry = Extract<ToldLife, { status: 'explained' }>['entries'][number];

function Entries({
  told: { sentences, entries, leftOut },
}: {
  readonly told: Extract<ToldLife, { status: 'explained' }>;
}) {
  const hasParts = entries.some(({ of }) => of !== null);
  return (
    <>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <Table
        caption={
          leftOut === 0
            ? null
            : `The oldest ${countText(leftOut)} entries are left out; fleetgc audit explain tells them.`
        }
        rows={entries}
        keyOf={({ atMs }, index) => `${atMs} ${index}`}
        columns={[
          ['When', 'time', ({ atMs }) => atMs],
          ...(hasParts ? [['Of', 'text', ({ of }: Entry) => of] as const] : []),
          ['What', 'text', ({ word }) => word],
          ['More', 'text', ({ text }) => text],
        ]}
      />
    </>
  );
}
