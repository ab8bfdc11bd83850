"""The campaign: faults, kills, hostile files and a soak against everything that is kept.

make campaign
python -m benchmarks.campaign --part faults --limit 200 --json
"""
