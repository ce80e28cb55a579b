import { useState } from 'preact/hooks';
import type { DashboardSearch, Found } from '../../../../schemas/reports/dashboard.ts';
import {
  addressOfKey,
  clusterAddress,
  clusterObjectAddress,
  go,
  objectAddress,
  policyAddress,
} from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { SearchField, Shown } from '../parts.tsx';

/** As the API wants it. */
const LEAST_LENGTH = 2;

export function SearchView({ query }: { readonly query: URLSearchParams }) {
  const asked = query.get('q')?.trim() ?? '';
  const [text, setText] = useState(asked);
  return (
    <>
      <h1>Search</h1>
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          go(`/search?${new URLSearchParams({ q: text })}`);
        }}
      >
        <SearchField
          label="Name of a node, cluster, image, pod, container, policy or object, or any id"
          value={text}
          minLength={LEAST_LENGTH}
          maxLength={300}
          required
          onInput={setText}
        />
        <button type="submit">Search</button>
      </form>
      {asked.length >= LEAST_LENGTH ? <Results asked={asked} /> : null}
    </>
  );
}

function Results({ asked }: { readonly asked: string }) {
  const answered = useAnswer<DashboardSearch>(`/api/search?${new URLSearchParams({ q: asked })}`, null);
  return (
    <Shown answered={answered}>
      {({ found, isAll }) => (
        <>
          <p role="status">
            {found.length === 0
              ? 'Nothing that was read has such a name or id.'
              : `${found.length} found${isAll ? '' : ', and there is more: write more of the name'}.`}
          </p>
          {found.length === 0 ? null : <FoundTable found={found} />}
        </>
      )}
    </Shown>
  );
}

const KINDS: Readonly<Record<Found['kind'], string>> = {
  node: 'node',
  policy: 'policy',
  'cluster-policy': 'policy for clusters',
  image: 'image',
  pod: 'pod',
  container: 'container',
  sandbox: 'sandbox',
  cluster: 'cluster',
  'cluster-object': 'object of a cluster',
  event: 'event',
};

/** A link to its own page, where it has one. An image lies on many nodes, a pod on one. */
function NameOf({ found: { kind, id, name, node, cluster } }: { readonly found: Found }) {
  switch (kind) {
    case 'node':
      return <a href={addressOfKey(id)}>{name}</a>;
    case 'image':
      return <a href={objectAddress('image', id)}>{name}</a>;
    case 'pod':
    case 'container':
    case 'sandbox':
      return <a href={objectAddress(kind, id, node)}>{name}</a>;
    case 'cluster':
      return <a href={clusterAddress(name)}>{name}</a>;
    case 'cluster-object':
      return <a href={clusterObjectAddress(cluster ?? '', id)}>{name}</a>;
    case 'cluster-policy':
      return <a href={policyAddress('cluster', name)}>{name}</a>;
    case 'policy':
      return <a href={policyAddress('node', name)}>{name}</a>;
    case 'event':
      return <>{name}</>;
  }
}

const InCluster = ({ cluster }: Pick<Found, 'cluster'>) =>
  cluster === null ? null : <a href={clusterAddress(cluster)}>{cluster}</a>;

function FoundTable({ found }: { readonly found: readonly Found[] }) {
  return (
    <Table
      rows={found}
      keyOf={({ kind, id, name, cluster }) => `${kind} ${id} ${name} ${cluster}`}
      columns={[
        ['Kind', 'text', ({ kind }) => KINDS[kind]],
        ['Name', 'text', (each) => <NameOf found={each} />],
        ['Id', 'text', ({ id, name }) => (id === name ? '' : id)],
        [
          'Last reported by',
          'text',
          ({ node, cluster }) =>
            node === null ? <InCluster cluster={cluster} /> : <a href={addressOfKey(node)}>{node}</a>,
        ],
      ]}
    />
  );
}
