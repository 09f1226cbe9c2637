"""Makes the documentation site: the pages of the repository, and those written from the package.

`places` says where on the site a page of the repository stands, `staging` puts all pages into one
folder, and one module for each kind of page writes those that the package tells: `commands`,
`keys`, `measures`, `formulas`, `papers`, `notation`, `bibliography`, `gallery`, `api`.
"""
