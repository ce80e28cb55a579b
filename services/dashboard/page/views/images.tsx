import type { ColumnKind } from '../../../../packages/documents/document.ts';
import { sizeText } from '../../../../packages/text/size-text.ts';
import type {
  DashboardHolders,
  DashboardImages,
  DashboardRepository,
  DashboardReturned,
} from '../../../../schemas/reports/dashboard-images.ts';
import { addressWith, go, objectAddress } from '../addresses.ts';
import { useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { Fact, Pages, SearchField, Section, Select, Shown, Time } from '../parts.tsx';
import { countText } from '../texts.ts';

const ON_A_PAGE = 50;
const EVERY_MS = 30_000;

/** What images take on all nodes, by repository. Whatever is chosen stands in the address. */
export function ImagesView({ query }: { readonly query: URLSearchParams }) {
  const asked = new URLSearchParams({ limit: String(ON_A_PAGE) });
  for (const name of ['q', 'sort', 'offset', 'by', 'of']) {
    const value = query.get(name);
    if (value !== null && value !== '') asked.set(name, value);
  }
  const images = useAnswer<DashboardImages>(`/api/images?${asked}`, EVERY_MS);
  const repository = query.get('repository');
  return (
    <>
      <h1>Images</h1>
      <Shown answered={images}>
        {(told) => (
          <>
            <Sums told={told} />
            <Chosen query={query} />
            {repository === null ? null : <Repository name={repository} query={query} />}
            <Repositories told={told} query={query} />
          </>
        )}
      </Shown>
      <Holders query={query} />
      <Returned />
    </>
  );
}

const bytesText = (bytes: string): string => sizeText(BigInt(bytes));

function Sums({
  told: { sums, nodes, nodesWithoutLayers, nodesNotCounted },
}: {
  readonly told: DashboardImages;
}) {
  return (
    <>
      <dl class="facts">
        <Fact name="All images take" more={`on ${countText(nodes)} nodes`}>
          {bytesText(sums.bytes)}
        </Fact>
        <Fact name="Nobody uses now">{bytesText(sums.unusedBytes)}</Fact>
        <Fact name="Nobody was ever seen to use">{bytesText(sums.neverUsedBytes)}</Fact>
        <Fact name="Images" more={`in ${countText(sums.repositories)} repositories`}>
          {countText(sums.images)}
        </Fact>
      </dl>
      {nodesNotCounted === 0 ? null : (
        <p>
          Not counted: {countText(nodesNotCounted)} {nodesNotCounted === 1 ? 'node is' : 'nodes are'} silent
          or told nothing of images yet, and what lies there is not known.
        </p>
      )}
      <p class="quiet">
        Of each node its newest inventory counts. What images of one node have in common counts once on that
        node.
        {nodesWithoutLayers === 0
          ? null
          : ` ${countText(nodesWithoutLayers)} nodes tell of no layers: there an image counts with its listed size.`}
      </p>
    </>
  );
}

/** Of which nodes alone it is told. */
function Chosen({ query }: { readonly query: URLSearchParams }) {
  const [by, of] = [query.get('by'), query.get('of')];
  if (by === null || of === null) return null;
  return (
    <p>
      Of the nodes of {by} <strong>{of}</strong> only.{' '}
      <a href={addressWith('/images', query, { by: null, of: null, offset: null })}>Of all nodes</a>
    </p>
  );
}

type RepositoryRow = DashboardImages['repositories'][number];

const COLUMNS: readonly {
  readonly sort: string;
  readonly name: string;
  readonly kind: ColumnKind;
  readonly cell: (row: RepositoryRow) => string | number | bigint;
}[] = [
  { sort: 'name', name: 'Repository', kind: 'name', cell: ({ repository }) => repository },
  { sort: 'images', name: 'Images', kind: 'count', cell: ({ images }) => images },
  { sort: 'nodes', name: 'Nodes', kind: 'count', cell: ({ nodes }) => nodes },
  { sort: 'bytes', name: 'Takes', kind: 'size', cell: ({ bytes }) => BigInt(bytes) },
  { sort: 'alone', name: 'Not shared', kind: 'size', cell: ({ aloneBytes }) => BigInt(aloneBytes) },
  { sort: 'unused', name: 'Nobody uses', kind: 'size', cell: ({ unusedBytes }) => BigInt(unusedBytes) },
  { sort: 'never', name: 'Never used', kind: 'size', cell: ({ neverUsedBytes }) => BigInt(neverUsedBytes) },
];

function Repositories({ told, query }: { readonly told: DashboardImages; readonly query: URLSearchParams }) {
  const sort = query.get('sort') ?? 'bytes';
  const offset = Number(query.get('offset') ?? 0);
  return (
    <Section id="repositories" heading="Repositories">
      <div class="controls">
        <SearchField
          label="Name has"
          value={query.get('q') ?? ''}
          onInput={(q) => go(addressWith('/images', query, { q, offset: null }), 'replace')}
        />
      </div>
      <Table
        caption={
          <>
            Takes: with what it shares with other repositories. Not shared: what no other repository of the
            node has; the two columns behind it are parts of that.
          </>
        }
        rows={told.repositories}
        keyOf={(row) => row.repository}
        sorted={{
          column: COLUMNS.findIndex((column) => column.sort === sort),
          order: sort === 'name' ? 'ascending' : 'descending',
        }}
        columns={COLUMNS.map(({ sort: by, name, kind, cell }) => [
          <a href={addressWith('/images', query, { sort: by, offset: null })}>{name}</a>,
          kind,
          kind === 'name'
            ? ({ repository }: RepositoryRow) => (
                <a href={addressWith('/images', query, { repository })}>{repository}</a>
              )
            : cell,
        ])}
      />
      <Pages
        offset={offset}
        limit={ON_A_PAGE}
        matching={told.matching}
        what="repositories"
        addressAt={(at) => addressWith('/images', query, { offset: String(at) })}
      />
    </Section>
  );
}

const SELDOM_MS = 60_000;
const KINDS = ['cluster', 'pool', 'policy', 'namespace'] as const;
const kindOf = (text: string | null): (typeof KINDS)[number] => KINDS.find((kind) => kind === text) ?? 'pool';

/** Who holds the space. */
function Holders({ query }: { readonly query: URLSearchParams }) {
  const by = kindOf(query.get('holders'));
  const answered = useAnswer<DashboardHolders>(
    `/api/images/holders?${new URLSearchParams({ by })}`,
    SELDOM_MS,
  );
  return (
    <Section id="holders" heading="Who holds the space">
      <div class="controls">
        <Select
          label="By"
          value={by}
          options={KINDS.map((kind) => [kind, kind])}
          onChange={(holders) => go(addressWith('/images', query, { holders }), 'replace')}
        />
      </div>
      <Shown answered={answered}>{(told) => <HolderTable told={told} query={query} />}</Shown>
    </Section>
  );
}

function HolderTable({
  told: { by, holders, matching },
  query,
}: {
  readonly told: DashboardHolders;
  readonly query: URLSearchParams;
}) {
  return (
    <Table
      caption={
        <>
          {by === 'namespace'
            ? 'Images that pods of a namespace use; an image of several namespaces is in each.'
            : 'The images of all nodes of each.'}
          {holders.length < matching ? ` The first ${holders.length} of ${countText(matching)}.` : ''}
        </>
      }
      rows={holders}
      keyOf={({ name }) => name}
      columns={[
        [
          by.slice(0, 1).toUpperCase() + by.slice(1),
          'name',
          ({ name }) =>
            by === 'namespace' ? (
              name
            ) : (
              <a href={addressWith('/images', query, { by, of: name, offset: null })}>{name}</a>
            ),
        ],
        ['Nodes', 'count', ({ nodes }) => nodes],
        ['Takes', 'size', ({ bytes }) => BigInt(bytes)],
        by === 'namespace'
          ? ['Not shared', 'size', ({ aloneBytes }) => BigInt(aloneBytes)]
          : ['Nobody uses', 'size', ({ unusedBytes }) => BigInt(unusedBytes)],
        ['Never used', 'size', ({ neverUsedBytes }) => BigInt(neverUsedBytes)],
      ]}
    />
  );
}

/** What was removed for nothing. */
function Returned() {
  const answered = useAnswer<DashboardReturned>('/api/images/returned', SELDOM_MS);
  return (
    <Section id="returned" heading="Removed, and pulled again">
      <Shown answered={answered}>
        {(told) => (
          <>
            <p>
              {countText(told.returns)} of {countText(told.removals)} images that were removed in the last
              seven days came back.{' '}
              {told.knownSinceMs !== null && told.knownSinceMs <= told.fromMs ? null : (
                <KnownSince told={told} />
              )}
              The <a href="/report">report</a> tells each of them.
            </p>
            {told.images.length === 0 ? null : <ReturnedTable images={told.images} />}
          </>
        )}
      </Shown>
    </Section>
  );
}

const KnownSince = ({ told: { knownSinceMs } }: { readonly told: DashboardReturned }) =>
  knownSinceMs === null ? (
    <>It is not known yet since when all is read. </>
  ) : (
    <>
      Known since <Time ms={knownSinceMs} />.{' '}
    </>
  );

function ReturnedTable({ images }: Pick<DashboardReturned, 'images'>) {
  return (
    <Table
      rows={images}
      keyOf={({ id }) => id}
      columns={[
        ['Image', 'name', ({ id, name }) => <a href={objectAddress('image', id)}>{name ?? id}</a>],
        ['Came back', 'count', ({ returns }) => returns],
        ['Removed', 'count', ({ removals }) => removals],
        ['Nodes', 'count', ({ nodes }) => nodes],
      ]}
    />
  );
}

/** The images of one repository. */
function Repository({ name, query }: { readonly name: string; readonly query: URLSearchParams }) {
  const answered = useAnswer<DashboardRepository>(
    `/api/images/repository?${new URLSearchParams({ name })}`,
    null,
  );
  return (
    <Section id="repository" heading={<>Images of {name}</>}>
      <p>
        <a href={addressWith('/images', query, { repository: null })}>Close</a>
      </p>
      <Shown answered={answered}>
        {({ images, matching }) => (
          <Table
            caption={
              <>
                {countText(matching)} images on all nodes, those on the most nodes first
                {images.length < matching ? `; the first ${countText(images.length)} of them` : ''}
              </>
            }
            rows={images}
            keyOf={({ id }) => id}
            columns={[
              ['Image', 'name', (image) => <a href={objectAddress('image', image.id)}>{image.name}</a>],
              ['Size as listed', 'size', ({ sizeBytes }) => BigInt(sizeBytes)],
              ['Nodes', 'count', ({ nodes }) => nodes],
              ['In use on', 'count', ({ usedOn }) => usedOn],
              ['Never used on', 'count', ({ neverUsedOn }) => neverUsedOn],
            ]}
          />
        )}
      </Shown>
    </Section>
  );
}
